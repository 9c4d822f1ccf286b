import type { AttributeSource, DataType, ModelAttribute, ModelValue } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionOfArray, connectionType, pageArgs } from '../connection.ts'
import { describedEnum } from '../lifecycle-enum.ts'

export const OrgModelDataType = describedEnum<DataType>('OrgModelDataType', 'What kind of thing an attribute holds.', {
  TEXT: 'Any text.',
  NUMBER: 'A decimal number.',
  BOOLEAN: 'True or false.',
  DATE: 'A calendar day.',
  SINGLE_SELECT: 'One of the attribute’s values.',
  MULTI_SELECT: 'Any of the attribute’s values.',
  HIERARCHY: 'One of the attribute’s values, which form a tree.',
})

export const OrgModelAttributeSource = describedEnum<AttributeSource>(
  'OrgModelAttributeSource',
  'Where an attribute’s data comes from.',
  {
    MANUAL: 'Kept by hand or by import.',
    HRIS: 'From a personnel system.',
    SCIM: 'From a directory, by SCIM.',
    DERIVED: 'Computed from other attributes.',
  },
)

export const OrgModelValue = builder.objectRef<ModelValue>('OrgModelValue').implement({
  description: 'A value that an attribute can have, as it is in one version of the organisation model.',
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The same in every version, whatever the value is called.' }),
    key: t.exposeString('key', { description: 'Name for files and integrations, unique in the attribute.' }),
    label: t.exposeString('label', { description: 'Name for people.' }),
    parentValueUuid: t.expose('parentValueId', {
      type: 'UUID',
      nullable: true,
      description: 'The value above it in a HIERARCHY; null at the top and in every other type.',
    }),
    deprecatedAt: t.expose('deprecatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it should no longer be chosen; null while it may.',
    }),
    sortOrder: t.exposeInt('sortOrder', { description: 'Its place among the attribute’s values, ascending.' }),
  }),
})

const OrgModelValueConnection = connectionType(OrgModelValue, 'values of an attribute')

export const OrgModelAttribute = builder.objectRef<ModelAttribute>('OrgModelAttribute').implement({
  description: 'An attribute of people, as it is in one version of the organisation model.',
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The same in every version, whatever the attribute is called.' }),
    key: t.exposeString('key', { description: 'Name for files and integrations, unique in the version.' }),
    label: t.exposeString('label', { description: 'Name for people.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it means.' }),
    dataType: t.expose('dataType', { type: OrgModelDataType, description: 'What it holds.' }),
    isRequired: t.exposeBoolean('required', { description: 'Every person should have it.' }),
    isSensitive: t.exposeBoolean('sensitive', { description: 'Its data asks for care: never in logs or events.' }),
    source: t.expose('source', { type: OrgModelAttributeSource, description: 'Where its data comes from.' }),
    defaultValueUuid: t.expose('defaultValueId', {
      type: 'UUID',
      nullable: true,
      description: 'The value that stands for a missing one; null when there is none.',
    }),
    replacesAttributeUuid: t.expose('replacesAttributeId', {
      type: 'UUID',
      nullable: true,
      description: 'The attribute whose place it takes under a new identity; null when it takes none’s.',
    }),
    deprecatedAt: t.expose('deprecatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it should no longer be used; null while it may.',
    }),
    sortOrder: t.exposeInt('sortOrder', { description: 'Its place among the attributes, ascending.' }),
    values: t.field({
      type: OrgModelValueConnection,
      description: 'The values it can have, in their order. None for a type without values.',
      args: pageArgs(t),
      // Read together with the model in any case, so a page of them multiplies nothing.
      complexity: { field: 1, multiplier: 1 },
      resolve: (attribute, args) => connectionOfArray(args, attribute.values, ({ id }) => id),
    }),
  }),
})

export const OrgModelAttributeConnection = connectionType(OrgModelAttribute, 'attributes of a version')
