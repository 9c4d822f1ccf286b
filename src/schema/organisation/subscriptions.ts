import { builder } from '../builder.ts'
import { AFTER, openStream, StreamCaughtUp, streamType, typeOfItem, type Snapshot } from '../stream.ts'
import type { StreamItem } from '../../events/index.ts'
import { EVENT_TYPES } from './event-types.ts'

const OrgModelSnapshot = streamType<Extract<StreamItem<Snapshot>, { kind: 'snapshot' }>>('OrgModelSnapshot', {
  description:
    'The organisation model as it is when the subscription begins. What happens later follows; an event that the ' +
    'snapshot shows already may come once more.',
  fields: (t) => ({
    active: t.prismaField({
      type: 'OrgModelVersion',
      nullable: true,
      description: 'The version that counts.',
      resolve: (query, _item, _args, context) =>
        context.rows('orgmodel.read').orgModelVersion.findFirst({ ...query, where: { status: 'ACTIVE' } }),
    }),
    draft: t.prismaField({
      type: 'OrgModelVersion',
      nullable: true,
      description: 'The open draft; null when there is none.',
      resolve: (query, _item, _args, context) =>
        context.rows('orgmodel.read').orgModelVersion.findFirst({ ...query, where: { status: 'DRAFT' } }),
    }),
  }),
})

const { org_model_version, org_model_draft_resolution, persona } = EVENT_TYPES
const ORG_MODEL = { org_model_version, org_model_draft_resolution }
const PERSONAS = { persona }

const OrgModelStreamItem = builder.unionType('OrgModelStreamItem', {
  description: 'What `orgModelEvents` tells. Every member is a StreamItem.',
  types: [OrgModelSnapshot, ...Object.values(ORG_MODEL), StreamCaughtUp],
  resolveType: typeOfItem(ORG_MODEL, OrgModelSnapshot),
})

const PersonaStreamItem = builder.unionType('PersonaStreamItem', {
  description: 'What `personaEvents` tells. Every member is a StreamItem.',
  types: [...Object.values(PERSONAS), StreamCaughtUp],
  resolveType: typeOfItem(PERSONAS),
})

const TenantStreamItem = builder.unionType('TenantStreamItem', {
  description: 'What `tenantEvents` tells. Every member is a StreamItem.',
  types: [...Object.values(EVENT_TYPES), StreamCaughtUp],
  resolveType: typeOfItem(EVENT_TYPES),
})

builder.subscriptionFields((t) => ({
  orgModelEvents: t.field({
    type: OrgModelStreamItem,
    description:
      'Follows the organisation model: its versions and the resolutions of its draft. Without `after` it begins ' +
      'with the present state, or from now on.',
    args: {
      after: t.arg(AFTER),
      snapshot: t.arg.boolean({
        defaultValue: true,
        description: 'Begin with an OrgModelSnapshot. Without meaning when `after` is given.',
      }),
    },
    subscribe: (_root, { after, snapshot }, context, info) =>
      openStream(context, info, {
        after,
        snapshot: snapshot ?? true,
        permissions: ['orgmodel.read'],
        kinds: Object.keys(ORG_MODEL),
      }),
    resolve: (item) => item as never,
  }),
  personaEvents: t.field({
    type: PersonaStreamItem,
    description:
      'Follows the personas. To begin with a list, ask for `personas` and `eventCursor` in one query and go on ' +
      'after that cursor.',
    args: { after: t.arg(AFTER) },
    subscribe: (_root, { after }, context, info) =>
      openStream(context, info, { after, permissions: ['orgmodel.read'], kinds: Object.keys(PERSONAS) }),
    resolve: (item) => item as never,
  }),
  tenantEvents: t.field({
    type: TenantStreamItem,
    description: 'Follows everything in the tenant, for dashboards and integrations.',
    args: { after: t.arg(AFTER) },
    subscribe: (_root, { after }, context, info) =>
      openStream(context, info, {
        after,
        permissions: ['orgmodel.read', 'people.read'],
        kinds: Object.keys(EVENT_TYPES),
      }),
    resolve: (item) => item as never,
  }),
}))
