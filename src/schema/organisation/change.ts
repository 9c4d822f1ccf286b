import type { NetChange, NetChangeKind } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../lifecycle-enum.ts'

export const OrgModelChangeKind = describedEnum<NetChangeKind>(
  'OrgModelChangeKind',
  'How one thing differs between two versions.',
  {
    ATTRIBUTE_ADDED: 'The attribute is new.',
    ATTRIBUTE_REMOVED: 'The attribute is gone, and so are its values.',
    ATTRIBUTE_RELABELED: 'The attribute is called otherwise.',
    ATTRIBUTE_KEY_CHANGED: 'Files and integrations know the attribute by another key.',
    ATTRIBUTE_REPLACED: 'The attribute gives its place to one with a new identity.',
    ATTRIBUTE_TYPE_CHANGED: 'The attribute holds another kind of thing.',
    ATTRIBUTE_REQUIRED_CHANGED: 'The attribute became required, or no longer is.',
    ATTRIBUTE_SOURCE_CHANGED: 'The attribute’s data comes from elsewhere.',
    ATTRIBUTE_DEPRECATED: 'The attribute should no longer be used, or may be again.',
    ATTRIBUTE_REORDERED: 'The attribute has another place.',
    ATTRIBUTE_DESCRIBED: 'The attribute’s description, default value or sensitivity changed.',
    VALUE_ADDED: 'The value is new.',
    VALUE_REMOVED: 'The value is gone.',
    VALUE_RELABELED: 'The value is called otherwise.',
    VALUE_KEY_CHANGED: 'Files and integrations know the value by another key.',
    VALUE_MOVED: 'The value has another parent.',
    VALUE_DEPRECATED: 'The value should no longer be chosen, or may be again.',
    VALUE_REORDERED: 'The value has another place.',
  },
)

export const OrgModelChange = builder.objectRef<NetChange>('OrgModelChange').implement({
  description:
    'A net difference between two versions: what is, not what was done. Adding a thing and removing it again is none.',
  fields: (t) => ({
    key: t.exposeString('id', {
      description: 'The same for the same difference, whoever made it and in whatever order.',
    }),
    kind: t.expose('kind', { type: OrgModelChangeKind, description: 'What differs.' }),
    attributeUuid: t.expose('attributeId', { type: 'UUID', description: 'The attribute that it is about.' }),
    valueUuid: t.expose('valueId', {
      type: 'UUID',
      nullable: true,
      description: 'The value that it is about; null when it is about the attribute itself.',
    }),
    label: t.exposeString('label', { description: 'Name of the thing, for people.' }),
    before: t.expose('before', { type: 'JSON', nullable: true, description: 'What it was; null when it is new.' }),
    after: t.expose('after', { type: 'JSON', nullable: true, description: 'What it is; null when it is gone.' }),
  }),
})
