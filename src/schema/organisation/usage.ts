import type { ReferenceRole, SourceKind, SourceState } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionType, pageArgs, pageCost } from '../connection.ts'
import { apiError } from '../errors/index.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { rowsConnection, selectedRows } from '../rows.ts'

const OrgModelUsageSourceKind = describedEnum<SourceKind>('OrgModelUsageSourceKind', 'What kind of thing uses it.', {
  PERSONA: 'A persona, in its filter.',
  STAGED_EFFECT: 'A change that a resolution has prepared for the activation of the draft.',
})

const OrgModelUsageSourceState = describedEnum<SourceState>(
  'OrgModelUsageSourceState',
  'Whether what uses it is in use itself.',
  {
    ACTIVE: 'It is in use.',
    INACTIVE: 'It is archived.',
    DRAFT: 'It counts only once the draft is activated.',
  },
)

const OrgModelUsageRole = describedEnum<ReferenceRole>('OrgModelUsageRole', 'As what it is used.', {
  CONDITION: 'In a condition.',
  GROUP_BY: 'To group by.',
  PLACEHOLDER: 'As a placeholder in a text.',
  MAPPING: 'In a mapping to another system.',
  REQUIREMENT: 'As something that is required.',
  POLICY: 'In a policy.',
  PAYLOAD: 'In the data of a change that is prepared.',
})

const OrgModelUsage = builder.prismaObject('OrgModelReference', {
  name: 'OrgModelUsage',
  description: 'One place where an attribute or a value is used.',
  select: {},
  fields: (t) => ({
    sourceKind: t.field({
      type: OrgModelUsageSourceKind,
      description: 'What kind of thing uses it.',
      select: { sourceKind: true },
      resolve: ({ sourceKind }) => sourceKind as SourceKind,
    }),
    sourceUuid: t.expose('sourceId', { type: 'UUID', description: 'Which thing.' }),
    sourceLabel: t.exposeString('sourceLabel', { description: 'Name of the thing, for people.' }),
    sourceState: t.field({
      type: OrgModelUsageSourceState,
      description: 'Whether the thing is in use itself.',
      select: { sourceState: true },
      resolve: ({ sourceState }) => sourceState as SourceState,
    }),
    path: t.exposeString('sourcePath', { description: 'Where in the thing: a JSON pointer.' }),
    role: t.field({
      type: OrgModelUsageRole,
      description: 'As what it is used.',
      select: { role: true },
      resolve: ({ role }) => role as ReferenceRole,
    }),
    attributeUuid: t.expose('attributeId', {
      type: 'UUID',
      nullable: true,
      description: 'The attribute that is used there.',
    }),
    valueUuid: t.expose('valueId', {
      type: 'UUID',
      nullable: true,
      description: 'The value that is used there; null when it is the attribute itself.',
    }),
    isNegated: t.exposeBoolean('negated', { description: 'The place says that this must not be.' }),
  }),
})

const OrgModelUsageConnection = connectionType(OrgModelUsage, 'places where something is used')

builder.queryField('orgModelUsages', (t) =>
  t.field({
    type: OrgModelUsageConnection,
    description:
      'Where an attribute (with all of its values) or one value is used, now and in what the draft has prepared. ' +
      'Give one of the two.',
    args: {
      attributeId: t.arg({ type: 'UUID', description: 'The attribute’s `uuid`.' }),
      valueId: t.arg({ type: 'UUID', description: 'The value’s `uuid`.' }),
      ...pageArgs(t),
    },
    complexity: pageCost,
    resolve: (_root, { attributeId, valueId, ...args }, context, info) => {
      if ((attributeId == null) === (valueId == null)) {
        const inputPath = ['attributeId']
        throw apiError('BAD_USER_INPUT', 'Give "attributeId" or "valueId", one of the two.', { inputPath })
      }
      const { orgModelReference } = context.rows('orgmodel.read')
      const where = attributeId == null ? { valueId: valueId ?? null } : { attributeId }
      return rowsConnection(
        args,
        { sourceKind: ['string', 'asc'], sourceId: ['uuid', 'asc'], sourcePath: ['string', 'asc'] },
        (page) =>
          orgModelReference.findMany({
            ...selectedRows(context, info, { sourceKind: true, sourceId: true, sourcePath: true }),
            ...page,
            where: { AND: [where, page.where] },
          }),
        () => orgModelReference.count({ where }),
      )
    },
  }),
)
