import {
  createDraft,
  importOrgModel,
  diffVersions,
  versionById,
  type NetChange,
  type OrgModelVersion as Version,
} from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import type { ApiContext } from '../context.ts'
import { decodeId, idArg } from '../id.ts'
import type { Subject } from '../idempotency.ts'
import { idempotencyKey } from '../input-fields.ts'
import { changed, KEYED, MOVES, outcomes, successOf } from '../mutation.ts'
import { OrgModelAttributeSource, OrgModelDataType } from './attribute.ts'
import { OrgModelChange } from './change.ts'
import { IMPORT_ERRORS } from './errors.ts'
import { versionOf } from './reread.ts'

const CreateOrgModelDraftInput = builder.inputType('CreateOrgModelDraftInput', {
  description: 'What to begin a draft with.',
  fields: (t) => ({
    fromVersionId: t.id(
      idArg(
        'OrgModelVersion',
        'The version whose content it begins with: the active one (default) or an archived one.',
      ),
    ),
    name: t.string({ description: 'Name for people, at most 200 characters.' }),
    note: t.string({ description: 'What it is for, at most 4,000 characters.' }),
    idempotencyKey: idempotencyKey(t),
  }),
})

const CreateOrgModelDraftSuccess = successOf<Version>('CreateOrgModelDraftSuccess', 'The draft is open.', (t) => ({
  draft: versionOf(t, 'The draft.', ({ id }) => id),
}))

const OrgModelImportValueInput = builder.inputType('OrgModelImportValueInput', {
  description: 'A value of an attribute to import.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Name for files and integrations, unique in the attribute.' }),
    label: t.string({ description: 'Name for people; left out: the key.' }),
    parentKey: t.string({ description: 'Key of the value above it, for a HIERARCHY.' }),
  }),
})

const OrgModelImportAttributeInput = builder.inputType('OrgModelImportAttributeInput', {
  description: 'An attribute to import.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Name for files and integrations, unique in the model.' }),
    label: t.string({ required: true, description: 'Name for people.' }),
    description: t.string({ description: 'What it means.' }),
    dataType: t.field({ type: OrgModelDataType, required: true, description: 'What it holds.' }),
    isRequired: t.boolean({ description: 'Every person should have it. Default false.' }),
    isSensitive: t.boolean({ description: 'Its data asks for care. Default false.' }),
    source: t.field({ type: OrgModelAttributeSource, description: 'Where its data comes from. Default MANUAL.' }),
    values: t.field({
      type: [OrgModelImportValueInput],
      description: 'The values it can have, in their order. For a select or a hierarchy.',
    }),
  }),
})

const ImportOrgModelInput = builder.inputType('ImportOrgModelInput', {
  description: 'A whole organisation model. What is in the active version under the same key keeps its identity.',
  fields: (t) => ({
    attributes: t.field({
      type: [OrgModelImportAttributeInput],
      required: true,
      description: 'All attributes of the new model, in their order.',
    }),
    name: t.string({ description: 'Name of the draft for people, at most 200 characters.' }),
    note: t.string({ description: 'What it is for, at most 4,000 characters.' }),
    idempotencyKey: idempotencyKey(t),
  }),
})

interface Imported {
  readonly version: Version
  readonly changes: readonly NetChange[]
}

const ImportOrgModelSuccess = successOf<Imported>(
  'ImportOrgModelSuccess',
  'The model stands in a new draft; activate it as any other.',
  (t) => ({
    draft: versionOf(t, 'The draft.', ({ version }) => version.id),
    changes: t.field({
      type: [OrgModelChange],
      description: 'How the draft differs from the active version.',
      resolve: ({ result }) => result.changes,
    }),
  }),
)

const DiscardOrgModelDraftInput = builder.inputType('DiscardOrgModelDraftInput', {
  description: 'Why the open draft is given up.',
  fields: (t) => ({
    reason: t.string({ required: true, description: 'Why, for those who look back. At most 2,000 characters.' }),
  }),
})

const DiscardOrgModelDraftSuccess = successOf<Version>(
  'DiscardOrgModelDraftSuccess',
  'The draft is given up. Its resolutions no longer run and what they staged is gone.',
  (t) => ({
    version: versionOf(t, 'The former draft.', ({ id }) => id),
  }),
)

builder.mutationFields((t) => ({
  createOrgModelDraft: t.field({
    type: CreateOrgModelDraftSuccess,
    nullable: true,
    description: 'Opens the tenant’s draft. There is one at a time.',
    args: { input: t.arg({ type: CreateOrgModelDraftInput, required: true, description: 'What to begin with.' }) },
    errors: outcomes('createOrgModelDraft', KEYED),
    resolve: (_root, { input }, context) => {
      const { fromVersionId, name = null, note = null } = input
      const from =
        typeof fromVersionId === 'string'
          ? { fromVersionId: decodeId('OrgModelVersion', fromVersionId, ['input', 'fromVersionId']) }
          : {}
      return changed(context, (call) => createDraft(call, { ...from, name, note }), {
        mutation: 'createOrgModelDraft',
        input,
        replay: (subjects) => versionAmong(context, subjects),
      })
    },
  }),
  importOrgModel: t.field({
    type: ImportOrgModelSuccess,
    nullable: true,
    description: 'Opens a draft with a whole model that is handed in. All or nothing.',
    args: { input: t.arg({ type: ImportOrgModelInput, required: true, description: 'The model.' }) },
    errors: outcomes('importOrgModel', KEYED, IMPORT_ERRORS),
    resolve: (_root, { input }, context) => {
      const { attributes, name = null, note = null } = input
      const model = attributes.map(({ isRequired, isSensitive, source, values, description = null, ...attribute }) => ({
        ...attribute,
        description,
        ...(isRequired == null ? {} : { required: isRequired }),
        ...(isSensitive == null ? {} : { sensitive: isSensitive }),
        ...(source == null ? {} : { source }),
        ...(values == null ? {} : { values: values.map(importedValue) }),
      }))
      return changed<Imported>(context, (call) => importOrgModel(call, { name, note, attributes: model }), {
        mutation: 'importOrgModel',
        input,
        replay: async (subjects) => {
          const version = await versionAmong(context, subjects)
          const changes = await diffVersions(context.call(), version.baseVersionId ?? version.id, version.id)
          return { version, changes: changes ?? [] }
        },
      })
    },
  }),
  discardOrgModelDraft: t.field({
    type: DiscardOrgModelDraftSuccess,
    nullable: true,
    description: 'Gives the open draft up. It stays in the list of versions and can no longer be changed.',
    args: { input: t.arg({ type: DiscardOrgModelDraftInput, required: true, description: 'Why.' }) },
    errors: outcomes('discardOrgModelDraft', MOVES),
    resolve: (_root, { input }, context) =>
      changed(context, (call) => context.drafts.discardDraft(call, { reason: input.reason })),
  }),
}))

const importedValue = ({ key, label, parentKey = null }: typeof OrgModelImportValueInput.$inferInput) => ({
  key,
  parentKey,
  ...(label == null ? {} : { label }),
})

async function versionAmong(context: ApiContext, subjects: readonly Subject[]): Promise<Version> {
  const subject = subjects.find(({ kind }) => kind === 'org_model_version')
  const version = subject === undefined ? null : await versionById(context.call(), subject.id)
  if (version === null) throw new Error('The first request with this key wrote no version.')
  return version
}
