import type {
  ActionOffer,
  Effect,
  EntityKind,
  IssueState,
  Severity,
  StaleReason,
  Activatability,
  EvaluatorRun,
  IssueReference,
  NetChange,
} from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionType, pageArgs, pageCost } from '../connection.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { OrgModelChange } from './change.ts'
import { keyOf } from '../node-key.ts'
import { nestedConnection, nestedRows } from '../rows.ts'

export const OrgModelIssueSeverity = describedEnum<Severity>('OrgModelIssueSeverity', 'How much an issue matters.', {
  BLOCKING: 'It keeps the draft from being activated until it is resolved.',
  WARNING: 'It should be looked at. The draft can be activated all the same.',
  INFO: 'Good to know.',
})

export const OrgModelIssueState = describedEnum<IssueState>(
  'OrgModelIssueState',
  'What is known of an issue’s repair.',
  {
    OPEN: 'Nothing resolves it yet.',
    RESOLVED: 'Gone once the draft is activated, or acknowledged.',
    STALE: 'A completed resolution was for another problem under the same key.',
    INEFFECTIVE: 'A completed resolution was for this very problem, and it is still there.',
  },
)

const OrgModelIssueEntityKind = describedEnum<EntityKind>(
  'OrgModelIssueEntityKind',
  'What kind of thing an issue is about.',
  {
    PERSONA: 'A persona.',
    ATTRIBUTE: 'An attribute.',
    VALUE: 'A value of an attribute.',
    ATTRIBUTE_OR_VALUE: 'An attribute, or a value of one: what the draft takes away from people who hold it.',
    EVALUATOR: 'An evaluator that did not do its work.',
    RESOLUTION: 'A resolution.',
  },
)

const OrgModelStaleReason = describedEnum<StaleReason>(
  'OrgModelStaleReason',
  'What changed since a resolution was chosen.',
  {
    CHANGES: 'The draft’s own changes.',
    REFERENCES: 'What refers to them.',
    EVALUATOR: 'The evaluator, which looks at more or at less now.',
  },
)

const OrgModelActionEffect = describedEnum<Effect>('OrgModelActionEffect', 'When an action takes effect.', {
  IMMEDIATE: 'As soon as it has run.',
  STAGED: 'When the draft is activated; until then it can be undone without a trace.',
  ACKNOWLEDGE: 'Never: somebody says that they know and accept it.',
})

const OrgModelActionOffer = builder.objectRef<ActionOffer>('OrgModelActionOffer').implement({
  description: 'An action offered for one issue: enough to draw its form without knowing the action.',
  fields: (t) => ({
    actionType: t.exposeString('actionType', { description: 'Pass it back as `chosenActionType`.' }),
    label: t.exposeString('label', { description: 'Name for people.' }),
    effect: t.expose('effect', { type: OrgModelActionEffect, description: 'When it takes effect.' }),
    isDestructive: t.exposeBoolean('destructive', { description: 'It takes something away that does not come back.' }),
    isRecommended: t.exposeBoolean('recommended', { description: 'The one to choose when in doubt.' }),
    payloadSchema: t.expose('payloadSchema', {
      type: 'JSONObject',
      description: 'JSON Schema (2020-12) of the `actionPayload` that it takes.',
    }),
    defaultPayload: t.expose('defaultPayload', {
      type: 'JSONObject',
      nullable: true,
      description: 'A payload that would do; null when only a person can know it.',
    }),
  }),
})

const OrgModelIssueReference = builder.objectRef<IssueReference>('OrgModelIssueReference').implement({
  description: 'One place that would break.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'Where in the thing: a JSON pointer.' }),
    attributeUuid: t.expose('attributeId', { type: 'UUID', description: 'The attribute it names.' }),
    valueUuid: t.expose('valueId', {
      type: 'UUID',
      nullable: true,
      description: 'The value it names; null when it names the attribute itself.',
    }),
    isNegated: t.exposeBoolean('negated', { description: 'It says that this must not be.' }),
    excerpt: t.exposeString('excerpt', { description: 'The place in words.' }),
  }),
})

export const OrgModelIssue = builder.prismaObject('OrgModelIssue', {
  description: 'An effect that activating the draft would have on one thing.',
  select: { issueKey: true },
  fields: (t) => ({
    key: t.exposeString('issueKey', { description: 'Identity in the draft: `code:affectedEntityId`.' }),
    code: t.exposeString('issueCode', { description: 'What kind of issue. Pass it back as `issueCode`.' }),
    severity: t.field({
      type: OrgModelIssueSeverity,
      description: 'How much it matters.',
      select: { severity: true },
      resolve: ({ severity }) => severity as Severity,
    }),
    state: t.field({
      type: OrgModelIssueState,
      description: 'What is known of its repair.',
      select: { state: true },
      resolve: ({ state }) => state as IssueState,
    }),
    affectedEntityKind: t.field({
      type: OrgModelIssueEntityKind,
      nullable: true,
      description: 'What kind of thing it is about; null when about the draft as a whole.',
      select: { affectedEntityKind: true },
      resolve: ({ affectedEntityKind }) => affectedEntityKind as EntityKind | null,
    }),
    affectedEntityId: t.exposeString('affectedEntityId', {
      nullable: true,
      description: 'Which thing: its UUID, or a name. Null when about the draft as a whole. Pass it back as it is.',
    }),
    affectedEntityLabel: t.exposeString('affectedLabel', {
      nullable: true,
      description: 'Name of the thing, for people.',
    }),
    message: t.exposeString('message', { description: 'What would happen.' }),
    affectedCount: t.exposeInt('affectedCount', {
      nullable: true,
      description: 'How many people it touches; null when that is not the point.',
    }),
    fingerprint: t.exposeString('fingerprint', {
      description: 'Changes when the problem does, and not when only a name does.',
    }),
    // The three lists are read with the issue and kept as the domain wrote them.
    changes: t.field({
      type: [OrgModelChange],
      description: 'The changes of the draft that cause it.',
      select: { changes: true },
      resolve: ({ changes }) => changes as unknown as readonly NetChange[],
    }),
    references: t.field({
      type: [OrgModelIssueReference],
      description: 'The places that would break.',
      select: { refs: true },
      resolve: ({ refs }) => refs as unknown as readonly IssueReference[],
    }),
    availableActions: t.field({
      type: [OrgModelActionOffer],
      description: 'What can be done about it. Empty: only an edit of the draft helps.',
      select: { availableActions: true },
      resolve: ({ availableActions }) => availableActions as unknown as readonly ActionOffer[],
    }),
    staleReason: t.field({
      type: OrgModelStaleReason,
      nullable: true,
      description: 'Why its resolution no longer counts, when it is STALE.',
      select: { staleReason: true },
      resolve: ({ staleReason }) => staleReason as StaleReason | null,
    }),
    resolution: t.prismaField({
      type: 'OrgModelDraftResolution',
      nullable: true,
      description: 'The completed resolution that resolves it, or that no longer fits it.',
      select: { resolutionId: true },
      resolve: (query, { resolutionId }, _args, context) =>
        resolutionId === null
          ? null
          : context.prisma().orgModelDraftResolution.findUnique({
              ...query,
              where: keyOf(resolutionId, context, 'orgmodel.read'),
            }),
    }),
  }),
})

const OrgModelIssueConnection = connectionType(OrgModelIssue, 'issues of an evaluation')

const OrgModelEvaluatorRun = builder.objectRef<EvaluatorRun>('OrgModelEvaluatorRun').implement({
  description: 'How one evaluator did.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'Which evaluator.' }),
    outcome: t.expose('outcome', {
      type: describedEnum<EvaluatorRun['outcome']>('OrgModelEvaluatorOutcome', 'How an evaluator did.', {
        OK: 'It did its work.',
        FAILED: 'It failed. Nobody knows whether the draft is safe, so that blocks.',
        TIMED_OUT: 'It took too long. Nobody knows whether the draft is safe, so that blocks.',
      }),
      description: 'Whether it did its work.',
    }),
    durationMs: t.exposeInt('ms', { description: 'How long it took, in milliseconds.' }),
    issueCount: t.exposeInt('issues', { description: 'How many issues it found.' }),
  }),
})

const OrgModelIssueFilter = builder.inputType('OrgModelIssueFilter', {
  description: 'Which issues to list. What is left out does not narrow.',
  fields: (t) => ({
    severities: t.field({ type: [OrgModelIssueSeverity], description: 'Only issues of these severities.' }),
    states: t.field({ type: [OrgModelIssueState], description: 'Only issues in these states.' }),
    codes: t.stringList({ description: 'Only issues with these codes.' }),
  }),
})

const BY_KEY = { issueKey: ['string', 'asc'] } as const

const matching = (filter: typeof OrgModelIssueFilter.$inferInput | null | undefined) => ({
  ...(filter?.severities == null ? {} : { severity: { in: filter.severities } }),
  ...(filter?.states == null ? {} : { state: { in: filter.states } }),
  ...(filter?.codes == null ? {} : { issueCode: { in: filter.codes } }),
})

export const OrgModelEvaluation = builder.prismaObject('OrgModelEvaluation', {
  description: 'What activating the draft would do, computed on one state of the draft and of what depends on it.',
  select: { id: true },
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'Names it in records.' }),
    evaluatedAt: t.expose('evaluatedAt', { type: 'DateTime', description: 'When it was computed.' }),
    contentRevision: t.int({
      description: 'The draft’s `contentRevision` it was computed on.',
      select: { contentRevision: true },
      resolve: ({ contentRevision }) => Number(contentRevision),
    }),
    blockingCount: t.exposeInt('blockingCount', { description: 'Blocking issues that are not resolved.' }),
    warningCount: t.exposeInt('warningCount', { description: 'Warnings that are not resolved.' }),
    infoCount: t.exposeInt('infoCount', { description: 'Other issues that are not resolved.' }),
    resolvedCount: t.exposeInt('resolvedCount', { description: 'Issues that are resolved.' }),
    evaluators: t.field({
      type: [OrgModelEvaluatorRun],
      description: 'How each evaluator did.',
      select: { evaluators: true },
      resolve: ({ evaluators }) => evaluators as unknown as readonly EvaluatorRun[],
    }),
    issues: t.field({
      type: OrgModelIssueConnection,
      description: 'What was found, by key.',
      args: { filter: t.arg({ type: OrgModelIssueFilter, description: 'Which of them.' }), ...pageArgs(t) },
      complexity: pageCost,
      select: ({ filter, ...args }, _context, nestedSelection) => ({
        id: true,
        issues: nestedRows(nestedSelection as never, 'OrgModelIssue', args, BY_KEY, matching(filter)),
      }),
      resolve: ({ id, issues }, { filter, ...args }, context) =>
        nestedConnection(args, BY_KEY, issues, () =>
          context.rows('orgmodel.read').orgModelIssue.count({ where: { evaluationId: id, ...matching(filter) } }),
        ),
    }),
  }),
})

const OrgModelActivationReason = builder
  .objectRef<Activatability['reasons'][number]>('OrgModelActivationReason')
  .implement({
    description: 'One thing that keeps a draft from being activated.',
    fields: (t) => ({
      code: t.exposeString('code', { description: 'Stable code to decide by.' }),
      issueKeys: t.expose('issueKeys', {
        type: ['String'],
        description: 'The keys of the issues that it is about; empty when it is about none.',
      }),
    }),
  })

export const OrgModelActivationCheck = builder.objectRef<Activatability>('OrgModelActivationCheck').implement({
  description: 'Whether a draft can be activated, and if not, everything that is in the way.',
  fields: (t) => ({
    canActivate: t.exposeBoolean('canActivate', { description: 'Nothing is in the way.' }),
    reasons: t.expose('reasons', { type: [OrgModelActivationReason], description: 'What is in the way.' }),
    evaluatedAt: t.expose('evaluatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the evaluation that this rests on was computed; null when there is none.',
    }),
    isStale: t.exposeBoolean('stale', {
      description: 'Something changed since that evaluation; evaluate again to know.',
    }),
  }),
})
