import type { Activation, AudienceReceipt } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { expectedContentRevision, idempotencyKey } from '../input-fields.ts'
import { changed, KEYED, MOVES, outcomes, successOf } from '../mutation.ts'
import { ACTIVATION_ERRORS } from './errors.ts'
import { versionOf } from './reread.ts'

const OrgModelAudienceReceipt = builder.objectRef<AudienceReceipt>('OrgModelAudienceReceipt').implement({
  description: 'How an activation changed whom a persona selects.',
  fields: (t) => ({
    personaUuid: t.expose('personaId', { type: 'UUID', description: 'The persona’s `uuid`.' }),
    personaName: t.exposeString('name', { description: 'What the persona is called.' }),
    countBefore: t.exposeInt('before', {
      nullable: true,
      description: 'How many people it selected before; null when its filter was INVALID.',
    }),
    countAfter: t.exposeInt('after', {
      nullable: true,
      description: 'How many people it selects now; null when it was archived or is INVALID.',
    }),
  }),
})

const ActivateOrgModelDraftInput = builder.inputType('ActivateOrgModelDraftInput', {
  description: 'The draft to activate.',
  fields: (t) => ({
    expectedContentRevision: expectedContentRevision(t),
    idempotencyKey: idempotencyKey(t),
  }),
})

const ActivateOrgModelDraftSuccess = successOf<Activation>(
  'ActivateOrgModelDraftSuccess',
  'The draft is the active version, and what its resolutions staged is in force.',
  (t) => ({
    version: versionOf(t, 'The version that counts from now on.', ({ versionId }) => versionId),
    previousVersion: versionOf(
      t,
      'The version that counted before, archived now.',
      ({ previousVersionId }) => previousVersionId,
    ),
    audiences: t.field({
      type: [OrgModelAudienceReceipt],
      description: 'How the audience of each persona changed, at the moment of activation.',
      resolve: ({ result }) => result.audienceReceipt,
    }),
    durationMs: t.int({
      description: 'How long the activation took, in milliseconds.',
      resolve: ({ result }) => result.durationMs,
    }),
  }),
)

builder.mutationField('activateOrgModelDraft', (t) =>
  t.field({
    type: ActivateOrgModelDraftSuccess,
    nullable: true,
    description: 'Makes the open draft the active version, if nothing is in the way at that very moment.',
    args: { input: t.arg({ type: ActivateOrgModelDraftInput, required: true, description: 'What you decided on.' }) },
    errors: outcomes('activateOrgModelDraft', KEYED, MOVES, ACTIVATION_ERRORS),
    resolve: (_root, { input }, context) => {
      const { expectedContentRevision, idempotencyKey } = input
      return changed(context, (call) =>
        context.drafts.activateDraft(call, {
          expectedContentRevision,
          ...(idempotencyKey == null ? {} : { idempotencyKey }),
        }),
      )
    },
  }),
)
