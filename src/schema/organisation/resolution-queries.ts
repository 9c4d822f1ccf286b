import { builder } from '../builder.ts'
import { pageArgs, pageCost } from '../connection.ts'
import { decodeId, idArg } from '../id.ts'
import { keyOf } from '../node-key.ts'
import { nestedConnection, nestedRows } from '../rows.ts'
import { OrgModelActivationCheck, OrgModelEvaluation } from './evaluation.ts'
import { OrgModelResolutionConnection, OrgModelResolutionStatus } from './resolution.ts'
import { OrgModelVersion } from './version.ts'

const OrgModelResolutionFilter = builder.inputType('OrgModelResolutionFilter', {
  description: 'Which resolutions to list. What is left out does not narrow.',
  fields: (t) => ({
    statuses: t.field({ type: [OrgModelResolutionStatus], description: 'Only resolutions in one of these statuses.' }),
    issueCodes: t.stringList({ description: 'Only resolutions of issues with these codes.' }),
  }),
})

const BY_ID = { id: ['uuid', 'asc'] } as const

const matching = (filter: typeof OrgModelResolutionFilter.$inferInput | null | undefined) => ({
  ...(filter?.statuses == null ? {} : { status: { in: filter.statuses } }),
  ...(filter?.issueCodes == null ? {} : { issueCode: { in: filter.issueCodes } }),
})

builder.queryField('orgModelResolution', (t) =>
  t.prismaField({
    type: 'OrgModelDraftResolution',
    nullable: true,
    description: 'One resolution; null when it does not exist.',
    args: { id: t.arg.id({ ...idArg('OrgModelResolution', 'Id of the resolution.'), required: true }) },
    resolve: (query, _root, { id }, context) =>
      context.prisma().orgModelDraftResolution.findUnique({
        ...query,
        where: keyOf(decodeId('OrgModelResolution', id, ['id']), context, 'orgmodel.read'),
      }),
  }),
)

builder.prismaObjectFields(OrgModelVersion, (t) => ({
  evaluation: t.field({
    type: OrgModelEvaluation,
    nullable: true,
    description:
      'What activating it would do, as last computed; null when it was never evaluated. `evaluateOrgModelDraft` ' +
      'computes it anew.',
    select: (_args, _context, nestedSelection) => ({
      evaluations: nestedSelection({ orderBy: { evaluatedAt: 'desc' }, take: 1 }),
    }),
    resolve: ({ evaluations }) => evaluations[0] ?? null,
  }),
  activationCheck: t.field({
    type: OrgModelActivationCheck,
    nullable: true,
    description: 'Whether it can be activated, by the last evaluation; null when it is no draft.',
    select: { status: true },
    resolve: ({ status }, _args, context) =>
      status === 'DRAFT' ? context.drafts.canActivate(context.call(), { bringUpToDate: false }) : null,
  }),
  resolutions: t.field({
    type: OrgModelResolutionConnection,
    description: 'The actions chosen for its issues, in the order in which issues were first acted on.',
    args: {
      filter: t.arg({ type: OrgModelResolutionFilter, description: 'Which of them.' }),
      ...pageArgs(t),
    },
    complexity: pageCost,
    select: ({ filter, ...args }, _context, nestedSelection) => ({
      id: true,
      resolutions: nestedRows(nestedSelection as never, 'OrgModelResolution', args, BY_ID, matching(filter)),
    }),
    resolve: ({ id, resolutions }, { filter, ...args }, context) =>
      nestedConnection(args, BY_ID, resolutions, () =>
        context
          .rows('orgmodel.read')
          .orgModelDraftResolution.count({ where: { draftVersionId: id, ...matching(filter) } }),
      ),
  }),
}))
