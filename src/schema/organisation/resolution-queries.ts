import { latestEvaluation, resolutionById, resolutionsOfDraft } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageArgs, pageCost } from '../connection.ts'
import { decodeId, idArg } from '../id.ts'
import { keyIs } from '../keyset-cursor.ts'
import { OrgModelActivationCheck, OrgModelEvaluation } from './evaluation.ts'
import { OrgModelResolution, OrgModelResolutionConnection, OrgModelResolutionStatus } from './resolution.ts'
import { OrgModelVersion } from './version.ts'

const OrgModelResolutionFilter = builder.inputType('OrgModelResolutionFilter', {
  description: 'Which resolutions to list. What is left out does not narrow.',
  fields: (t) => ({
    statuses: t.field({ type: [OrgModelResolutionStatus], description: 'Only resolutions in one of these statuses.' }),
  }),
})

builder.queryField('orgModelResolution', (t) =>
  t.field({
    type: OrgModelResolution,
    nullable: true,
    description: 'One resolution; null when it does not exist.',
    args: { id: t.arg.id({ ...idArg('OrgModelResolution', 'Id of the resolution.'), required: true }) },
    resolve: (_root, { id }, context) =>
      resolutionById(context.call(), decodeId('OrgModelResolution', id, ['id'])),
  }),
)

builder.objectFields(OrgModelVersion, (t) => ({
  evaluation: t.field({
    type: OrgModelEvaluation,
    nullable: true,
    description:
      'What activating it would do, as last computed; null when it was never evaluated. `evaluateOrgModelDraft` ' +
      'computes it anew.',
    resolve: (version, _args, context) => latestEvaluation(context.call(), version.id),
  }),
  activationCheck: t.field({
    type: OrgModelActivationCheck,
    nullable: true,
    description: 'Whether it can be activated, by the last evaluation; null when it is no draft.',
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
    resolve: (version, { filter, ...args }, context) =>
      connectionOf(args, {
        isKey: keyIs({ id: 'uuid' }),
        keyOf: ({ id }) => ({ id }),
        read: (page) =>
          resolutionsOfDraft(context.call(), {
            draftVersionId: version.id,
            ...(filter?.statuses == null ? {} : { statuses: filter.statuses }),
            page,
          }),
      }),
  }),
}))
