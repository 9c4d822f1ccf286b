import type { EvaluationWithIssues, Resolution, SubmittedResolution } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { decodeId, idArg } from '../id.ts'
import { expectedVersion, idempotencyKey } from '../input-fields.ts'
import { keyOf } from '../node-key.ts'
import { changed, KEYED, MOVES, outcomes, successOf } from '../mutation.ts'
import { RESOLUTION_ERRORS } from './errors.ts'
import { OrgModelActivationCheck } from './evaluation.ts'
import { resolutionOf } from './reread.ts'

const EvaluateOrgModelDraftSuccess = successOf<EvaluationWithIssues>(
  'EvaluateOrgModelDraftSuccess',
  'The open draft is evaluated as it is now.',
  (t) => ({
    evaluation: t.prismaField({
      type: 'OrgModelEvaluation',
      description: 'What activating it would do.',
      resolve: (query, { result }, _args, context) =>
        context.prisma().orgModelEvaluation.findUniqueOrThrow({
          ...query,
          where: keyOf(result.evaluation.id, context, 'orgmodel.read'),
        }),
    }),
    activationCheck: t.field({
      type: OrgModelActivationCheck,
      description: 'Whether it can be activated.',
      resolve: (_success, _args, context) => context.drafts.canActivate(context.call()),
    }),
  }),
)

const OrgModelResolutionInput = builder.inputType('OrgModelResolutionInput', {
  description: 'The action chosen for one issue.',
  fields: (t) => ({
    issueCode: t.string({ required: true, description: 'The issue’s `code`.' }),
    affectedEntityId: t.string({
      description: 'The issue’s `affectedEntityId`, as it came; left out when that is null.',
    }),
    chosenActionType: t.string({ required: true, description: 'The `actionType` of one of its `availableActions`.' }),
    actionPayload: t.field({ type: 'JSON', description: 'What the action’s `payloadSchema` asks for.' }),
  }),
})

const SubmitOrgModelResolutionsInput = builder.inputType('SubmitOrgModelResolutionsInput', {
  description: 'Actions chosen for issues of the open draft.',
  fields: (t) => ({
    expectedDraftVersionId: t.id(
      idArg('OrgModelVersion', 'The draft you decided on. When another one is open by now, nothing is done.'),
    ),
    expectedContentRevision: t.int({
      description: 'The draft’s `contentRevision` you decided on. When it has another by now, nothing is done.',
    }),
    resolutions: t.field({
      type: [OrgModelResolutionInput],
      required: true,
      description: 'At least one, at most 100, one per issue. All of them are accepted or none.',
    }),
    idempotencyKey: idempotencyKey(t),
  }),
})

const SubmitOrgModelResolutionsSuccess = successOf<readonly SubmittedResolution[]>(
  'SubmitOrgModelResolutionsSuccess',
  'The actions are accepted and will be carried out in the background. Follow them with `orgModelEvents`.',
  (t) => ({
    resolutions: t.prismaField({
      type: ['OrgModelDraftResolution'],
      description: 'One per input, in the order of the input.',
      resolve: async (query, { result }, _args, context) => {
        const ids = result.map(({ resolutionId }) => resolutionId)
        const rows = await context.rows('orgmodel.read').orgModelDraftResolution.findMany({
          ...query,
          where: { id: { in: ids } },
        })
        return rows.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
      },
    }),
  }),
)

const resolutionInput = (name: string, description: string) =>
  builder.inputType(name, {
    description,
    fields: (t) => ({
      resolutionId: t.id({ ...idArg('OrgModelResolution', 'Id of the resolution.'), required: true }),
      expectedVersion: expectedVersion(t),
    }),
  })

const resolutionSuccess = (name: string, description: string) =>
  successOf<Resolution>(name, description, (t) => ({
    resolution: resolutionOf(t, 'The resolution as it is now.'),
  }))

const CancelOrgModelResolutionInput = resolutionInput('CancelOrgModelResolutionInput', 'The resolution to stop.')
const CancelOrgModelResolutionSuccess = resolutionSuccess(
  'CancelOrgModelResolutionSuccess',
  'It will not be carried out.',
)
const RetryOrgModelResolutionInput = resolutionInput('RetryOrgModelResolutionInput', 'The resolution to try again.')
const RetryOrgModelResolutionSuccess = resolutionSuccess('RetryOrgModelResolutionSuccess', 'It will be tried again.')

interface ResolutionInput {
  readonly resolutionId: string
  readonly expectedVersion?: number | null | undefined
}

const chosen = ({ resolutionId, expectedVersion }: ResolutionInput) => ({
  resolutionId: decodeId('OrgModelResolution', resolutionId, ['input', 'resolutionId']),
  ...(expectedVersion == null ? {} : { expectedVersion }),
})

builder.mutationFields((t) => ({
  evaluateOrgModelDraft: t.field({
    type: EvaluateOrgModelDraftSuccess,
    nullable: true,
    description:
      'Computes what activating the open draft would do, unless that is known for exactly this state already.',
    errors: outcomes('evaluateOrgModelDraft'),
    resolve: (_root, _args, context) => changed(context, (call) => context.drafts.evaluateDraft(call)),
  }),
  submitOrgModelResolutions: t.field({
    type: SubmitOrgModelResolutionsSuccess,
    nullable: true,
    description: 'Chooses actions for issues of the open draft. A choice for an issue that has one takes its place.',
    args: { input: t.arg({ type: SubmitOrgModelResolutionsInput, required: true, description: 'The choices.' }) },
    errors: outcomes('submitOrgModelResolutions', KEYED, RESOLUTION_ERRORS),
    resolve: (_root, { input }, context) => {
      const { expectedDraftVersionId, expectedContentRevision, idempotencyKey, resolutions } = input
      const expected = ['input', 'expectedDraftVersionId']
      return changed(context, async (call) => {
        return context.drafts.submitResolutions(call, {
          ...(typeof expectedDraftVersionId === 'string'
            ? { expectedDraftVersionId: decodeId('OrgModelVersion', expectedDraftVersionId, expected) }
            : {}),
          ...(expectedContentRevision == null ? {} : { expectedContentRevision }),
          ...(idempotencyKey == null ? {} : { idempotencyKey }),
          resolutions: resolutions.map(({ affectedEntityId = null, actionPayload = null, ...choice }) => ({
            ...choice,
            affectedEntityId,
            actionPayload,
          })),
        })
      })
    },
  }),
  cancelOrgModelResolution: t.field({
    type: CancelOrgModelResolutionSuccess,
    nullable: true,
    description: 'Stops a resolution that is not completed. It becomes FAILED and can be submitted again.',
    args: { input: t.arg({ type: CancelOrgModelResolutionInput, required: true, description: 'Which.' }) },
    errors: outcomes('cancelOrgModelResolution', MOVES),
    resolve: (_root, { input }, context) =>
      changed(context, async (call) => context.drafts.cancelResolution(call, chosen(input))),
  }),
  retryOrgModelResolution: t.field({
    type: RetryOrgModelResolutionSuccess,
    nullable: true,
    description: 'Submits a FAILED resolution again with the same action and payload.',
    args: { input: t.arg({ type: RetryOrgModelResolutionInput, required: true, description: 'Which.' }) },
    errors: outcomes('retryOrgModelResolution', MOVES),
    resolve: (_root, { input }, context) =>
      changed(context, async (call) => context.drafts.retryResolution(call, chosen(input))),
  }),
}))
