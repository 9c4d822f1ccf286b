import {
  addAttribute,
  addValue,
  removeAttribute,
  removeValue,
  updateAttribute,
  updateValue,
  type ModelAttribute,
  type ModelValue,
  type OrgModelVersion as Version,
} from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { expectedContentRevision } from '../input-fields.ts'
import { changed, givenOf, outcomes, successOf } from '../mutation.ts'
import { OrgModelAttribute, OrgModelAttributeSource, OrgModelDataType, OrgModelValue } from './attribute.ts'
import { versionOf } from './reread.ts'

const AddOrgModelAttributeInput = builder.inputType('AddOrgModelAttributeInput', {
  description: 'An attribute to add to the open draft.',
  fields: (t) => ({
    expectedContentRevision: expectedContentRevision(t),
    key: t.string({ required: true, description: 'Name for files and integrations, unique in the version.' }),
    label: t.string({ required: true, description: 'Name for people.' }),
    description: t.string({ description: 'What it means.' }),
    dataType: t.field({ type: OrgModelDataType, required: true, description: 'What it holds.' }),
    isRequired: t.boolean({ description: 'Every person should have it. Default false.' }),
    isSensitive: t.boolean({ description: 'Its data asks for care. Default false.' }),
    source: t.field({ type: OrgModelAttributeSource, description: 'Where its data comes from. Default MANUAL.' }),
    replacesAttributeId: t.field({
      type: 'UUID',
      description: 'The `uuid` of the attribute whose place it takes; its references can then be moved in one go.',
    }),
  }),
})

const UpdateOrgModelAttributeInput = builder.inputType('UpdateOrgModelAttributeInput', {
  description: 'What to change of an attribute of the open draft. What is left out stays.',
  fields: (t) => ({
    attributeId: t.field({ type: 'UUID', required: true, description: 'The attribute’s `uuid`.' }),
    expectedContentRevision: expectedContentRevision(t),
    key: t.string({ description: 'Another key.' }),
    label: t.string({ description: 'Another name.' }),
    description: t.string({ description: 'Another description; null takes it away.' }),
    dataType: t.field({ type: OrgModelDataType, description: 'Another kind of thing to hold.' }),
    isRequired: t.boolean({ description: 'Whether every person should have it.' }),
    isSensitive: t.boolean({ description: 'Whether its data asks for care.' }),
    source: t.field({ type: OrgModelAttributeSource, description: 'Another origin of its data.' }),
    defaultValueId: t.field({
      type: 'UUID',
      description: 'The `uuid` of the value that stands for a missing one; null takes it away.',
    }),
    isDeprecated: t.boolean({ description: 'Whether it should no longer be used.' }),
    sortOrder: t.int({ description: 'Another place among the attributes.' }),
  }),
})

const RemoveOrgModelAttributeInput = builder.inputType('RemoveOrgModelAttributeInput', {
  description: 'An attribute to take out of the open draft, with its values.',
  fields: (t) => ({
    attributeId: t.field({ type: 'UUID', required: true, description: 'The attribute’s `uuid`.' }),
    expectedContentRevision: expectedContentRevision(t),
  }),
})

const AddOrgModelValueInput = builder.inputType('AddOrgModelValueInput', {
  description: 'A value to add to an attribute of the open draft.',
  fields: (t) => ({
    attributeId: t.field({ type: 'UUID', required: true, description: 'The attribute’s `uuid`.' }),
    expectedContentRevision: expectedContentRevision(t),
    key: t.string({ required: true, description: 'Name for files and integrations, unique in the attribute.' }),
    label: t.string({ required: true, description: 'Name for people.' }),
    parentValueId: t.field({ type: 'UUID', description: 'The `uuid` of the value above it, for a HIERARCHY.' }),
  }),
})

const UpdateOrgModelValueInput = builder.inputType('UpdateOrgModelValueInput', {
  description: 'What to change of a value of the open draft. What is left out stays.',
  fields: (t) => ({
    valueId: t.field({ type: 'UUID', required: true, description: 'The value’s `uuid`.' }),
    expectedContentRevision: expectedContentRevision(t),
    key: t.string({ description: 'Another key.' }),
    label: t.string({ description: 'Another name.' }),
    parentValueId: t.field({ type: 'UUID', description: 'The `uuid` of another value above it; null: at the top.' }),
    isDeprecated: t.boolean({ description: 'Whether it should no longer be chosen.' }),
    sortOrder: t.int({ description: 'Another place among the attribute’s values.' }),
  }),
})

const RemoveOrgModelValueInput = builder.inputType('RemoveOrgModelValueInput', {
  description: 'A value to take out of the open draft.',
  fields: (t) => ({
    valueId: t.field({ type: 'UUID', required: true, description: 'The value’s `uuid`.' }),
    expectedContentRevision: expectedContentRevision(t),
  }),
})

interface Edited {
  readonly version: Version
}

const DRAFT = 'The draft as it is now, with its new `contentRevision`.'

const attributeSuccess = (name: string, description: string) =>
  successOf<Edited & { readonly attribute: ModelAttribute }>(name, description, (t) => ({
    draft: versionOf(t, DRAFT, ({ version }) => version.id),
    attribute: t.field({
      type: OrgModelAttribute,
      description: 'The attribute as it is now.',
      resolve: ({ result }) => result.attribute,
    }),
  }))

const valueSuccess = (name: string, description: string) =>
  successOf<Edited & { readonly value: ModelValue }>(name, description, (t) => ({
    draft: versionOf(t, DRAFT, ({ version }) => version.id),
    value: t.field({
      type: OrgModelValue,
      description: 'The value as it is now.',
      resolve: ({ result }) => result.value,
    }),
  }))

const removalSuccess = (name: string, description: string) =>
  successOf<Edited & { readonly removedUuid: string }>(name, description, (t) => ({
    draft: versionOf(t, DRAFT, ({ version }) => version.id),
    removedUuid: t.field({
      type: 'UUID',
      description: 'What was taken out.',
      resolve: ({ result }) => result.removedUuid,
    }),
  }))

const AddOrgModelAttributeSuccess = attributeSuccess('AddOrgModelAttributeSuccess', 'The attribute is in the draft.')
const UpdateOrgModelAttributeSuccess = attributeSuccess('UpdateOrgModelAttributeSuccess', 'The attribute is changed.')
const RemoveOrgModelAttributeSuccess = removalSuccess('RemoveOrgModelAttributeSuccess', 'The attribute is out.')
const AddOrgModelValueSuccess = valueSuccess('AddOrgModelValueSuccess', 'The value is in the draft.')
const UpdateOrgModelValueSuccess = valueSuccess('UpdateOrgModelValueSuccess', 'The value is changed.')
const RemoveOrgModelValueSuccess = removalSuccess('RemoveOrgModelValueSuccess', 'The value is out.')

/** The domain's names of what the API calls by a predicate. */
function predicates(input: {
  isRequired?: boolean | null | undefined
  isSensitive?: boolean | null | undefined
  isDeprecated?: boolean | null | undefined
}) {
  const { isRequired, isSensitive, isDeprecated } = givenOf(input, ['isRequired', 'isSensitive', 'isDeprecated'])
  return {
    ...(isRequired === undefined ? {} : { required: isRequired }),
    ...(isSensitive === undefined ? {} : { sensitive: isSensitive }),
    ...(isDeprecated === undefined ? {} : { deprecated: isDeprecated }),
  }
}

builder.mutationFields((t) => ({
  addOrgModelAttribute: t.field({
    type: AddOrgModelAttributeSuccess,
    nullable: true,
    description: 'Adds an attribute to the open draft.',
    args: { input: t.arg({ type: AddOrgModelAttributeInput, required: true, description: 'The attribute.' }) },
    errors: outcomes('addOrgModelAttribute'),
    resolve: (_root, { input }, context) => {
      const { expectedContentRevision, key, label, dataType, description = null, source, replacesAttributeId } = input
      return changed(context, (call) =>
        addAttribute(call, {
          expectedContentRevision,
          key,
          label,
          dataType,
          description,
          ...predicates(input),
          ...(source == null ? {} : { source }),
          ...(replacesAttributeId == null ? {} : { replacesAttributeId }),
        }),
      )
    },
  }),
  updateOrgModelAttribute: t.field({
    type: UpdateOrgModelAttributeSuccess,
    nullable: true,
    description: 'Changes an attribute of the open draft. Its identity, and so its references, stay.',
    args: { input: t.arg({ type: UpdateOrgModelAttributeInput, required: true, description: 'What to change.' }) },
    errors: outcomes('updateOrgModelAttribute'),
    resolve: (_root, { input }, context) =>
      changed(context, async (call) =>
        updateAttribute(call, {
          attributeId: input.attributeId,
          expectedContentRevision: input.expectedContentRevision,
          ...predicates(input),
          ...givenOf(
            input,
            ['key', 'label', 'description', 'dataType', 'source', 'defaultValueId', 'sortOrder'],
            ['description', 'defaultValueId'],
          ),
        }),
      ),
  }),
  removeOrgModelAttribute: t.field({
    type: RemoveOrgModelAttributeSuccess,
    nullable: true,
    description: 'Takes an attribute out of the open draft. The evaluation then tells what depends on it.',
    args: { input: t.arg({ type: RemoveOrgModelAttributeInput, required: true, description: 'The attribute.' }) },
    errors: outcomes('removeOrgModelAttribute'),
    resolve: (_root, { input }, context) =>
      changed(context, async (call) => ({ ...(await removeAttribute(call, input)), removedUuid: input.attributeId })),
  }),
  addOrgModelValue: t.field({
    type: AddOrgModelValueSuccess,
    nullable: true,
    description: 'Adds a value to an attribute of the open draft.',
    args: { input: t.arg({ type: AddOrgModelValueInput, required: true, description: 'The value.' }) },
    errors: outcomes('addOrgModelValue'),
    resolve: (_root, { input }, context) => {
      const { parentValueId, ...value } = input
      return changed(context, (call) =>
        addValue(call, { ...value, ...(parentValueId == null ? {} : { parentValueId }) }),
      )
    },
  }),
  updateOrgModelValue: t.field({
    type: UpdateOrgModelValueSuccess,
    nullable: true,
    description: 'Changes a value of the open draft. Its identity, and so its references, stay.',
    args: { input: t.arg({ type: UpdateOrgModelValueInput, required: true, description: 'What to change.' }) },
    errors: outcomes('updateOrgModelValue'),
    resolve: (_root, { input }, context) =>
      changed(context, async (call) => {
        const { deprecated } = predicates(input)
        return updateValue(call, {
          valueId: input.valueId,
          expectedContentRevision: input.expectedContentRevision,
          ...(deprecated === undefined ? {} : { deprecated }),
          ...givenOf(input, ['key', 'label', 'parentValueId', 'sortOrder'], ['parentValueId']),
        })
      }),
  }),
  removeOrgModelValue: t.field({
    type: RemoveOrgModelValueSuccess,
    nullable: true,
    description: 'Takes a value out of the open draft. The evaluation then tells what depends on it.',
    args: { input: t.arg({ type: RemoveOrgModelValueInput, required: true, description: 'The value.' }) },
    errors: outcomes('removeOrgModelValue'),
    resolve: (_root, { input }, context) =>
      changed(context, async (call) => ({ ...(await removeValue(call, input)), removedUuid: input.valueId })),
  }),
}))
