import { defineLifecycle } from '../../transitions/index.ts'

export type VersionStatus = 'DRAFT' | 'ACTIVE' | 'ARCHIVED' | 'DISCARDED'

/** A version of the organisation model. Its rows of `transition_pair` stand in the organisation's migration. */
export const versionLifecycle = defineLifecycle<VersionStatus>({
  kind: 'org_model_version',
  table: 'org_model_version',
  noun: 'The version of the organisation model',
  statuses: {
    DRAFT: { description: 'The one version that can be edited; nobody works by it yet.' },
    ACTIVE: { description: 'The one version that counts.' },
    ARCHIVED: { description: 'Counted once, until its successor was activated. Never changes again.', terminal: true },
    DISCARDED: { description: 'A draft that was given up. Never changes again.', terminal: true },
  },
  pairs: [
    { from: null, to: 'ACTIVE', type: 'orgmodel.version.founded', when: 'a tenant is created, with an empty model' },
    { from: null, to: 'DRAFT', type: 'orgmodel.draft.created', when: 'a draft is opened or a model imported' },
    { from: 'DRAFT', to: 'DRAFT', type: 'orgmodel.draft.edited', when: 'its content changes' },
    { from: 'DRAFT', to: 'ACTIVE', type: 'orgmodel.version.activated', when: 'it is activated' },
    { from: 'DRAFT', to: 'DISCARDED', type: 'orgmodel.draft.discarded', when: 'it is given up' },
    { from: 'ACTIVE', to: 'ARCHIVED', type: 'orgmodel.version.archived', when: 'its successor is activated' },
  ],
})
