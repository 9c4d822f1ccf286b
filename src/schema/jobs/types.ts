import {
  policyPreview,
  readTypes,
  type PlannedAttempt,
  type PolicyPreview,
  type TypeBreaker,
  type TypePolicy,
  type TypeRow,
} from '../../jobs/types/index.ts'
import { builder } from '../builder.ts'
import { FailureClass, JobStatus } from '../job-enums.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { forOperators } from '../manners.ts'
import { JobBreakerState } from './alerts.ts'
import { JobClass } from '../job-enums.ts'
import { operatedLoader } from './job.ts'

const JobBreaker = builder.objectRef<TypeBreaker>('JobBreaker').implement({
  description: 'The circuit breaker between a job type and an outside service.',
  fields: (t) => ({
    dependency: t.exposeString('dependency', { description: 'The outside service.' }),
    state: t.expose('state', { type: JobBreakerState, description: 'Whether the service is asked at present.' }),
    failureCount: t.exposeInt('failures', { description: 'How often it failed in a row, over all processes.' }),
    openedAt: t.expose('openedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was opened; null while it is closed.',
    }),
    nextProbeAt: t.expose('openUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When a job tries whether the service is back; null while it is closed.',
    }),
  }),
})

const milliseconds = (value: number) => BigInt(Math.round(value))

const JobPlannedAttempt = builder.objectRef<PlannedAttempt>('JobPlannedAttempt').implement({
  description:
    'When an attempt may begin if all before it fail: counted from the begin of the first. One that times out takes the ' +
    'whole time-out, another no time at all.',
  fields: (t) => ({
    attempt: t.exposeInt('attempt', { description: 'Which attempt, from 1.' }),
    earliestMs: t.field({
      type: 'BigInt',
      description: 'At the earliest after so many milliseconds.',
      resolve: ({ earliestMs }) => milliseconds(earliestMs),
    }),
    latestMs: t.field({
      type: 'BigInt',
      description: 'At the latest after so many milliseconds, when a worker is free then.',
      resolve: ({ latestMs }) => milliseconds(latestMs),
    }),
  }),
})

const JobPolicyPreview = builder.objectRef<PolicyPreview>('JobPolicyPreview').implement({
  description:
    'What becomes of a job whose attempts all fail in one way. A wait that an error asks for itself counts instead.',
  fields: (t) => ({
    failureClass: t.expose('failureClass', { type: FailureClass, description: 'The way.' }),
    attempts: t.expose('attempts', { type: [JobPlannedAttempt], description: 'Its attempts, until the job is over.' }),
    status: t.expose('status', { type: JobStatus, description: 'How it is over.' }),
    reason: t.exposeString('reason', {
      nullable: true,
      description:
        'Why there is no further attempt: `policy.permanent`, `policy.attempts_used`, `policy.max_elapsed` or ' +
        '`policy.lost_cap`; null when it was cancelled.',
    }),
  }),
})

interface ErrorRule {
  readonly failureClass: string
  readonly maxAttempts?: number
  readonly delaysMs?: readonly number[]
}

const RuledFailure = describedEnum('JobRuledFailure', 'A class of errors that a policy can have a rule for.', {
  TRANSIENT: 'It may work next time.',
  THROTTLED: 'The other side asked to wait.',
  TIMEOUT: 'It took too long.',
  LOST: 'The worker that was at it is gone.',
})

const JobErrorRule = builder.objectRef<ErrorRule>('JobErrorRule').implement({
  description: 'What a policy says of one class of errors, never wider than the policy itself.',
  fields: (t) => ({
    failureClass: t.field({
      type: RuledFailure,
      description: 'The class of errors.',
      resolve: ({ failureClass }) => failureClass as typeof RuledFailure.$inferType,
    }),
    maxAttempts: t.int({
      nullable: true,
      description: 'How many attempts in all when the last one failed so; null: as the policy.',
      resolve: ({ maxAttempts }) => maxAttempts ?? null,
    }),
    delaysMs: t.intList({
      description: 'The waits after each such attempt; none: as the policy.',
      resolve: ({ delaysMs }) => [...(delaysMs ?? [])],
    }),
  }),
})

const JobPolicy = builder.objectRef<TypePolicy>('JobPolicy').implement({
  description:
    'How often and how long jobs may be tried. It never changes: what a release declares anew is another version, and a ' +
    'job keeps the one that it was enqueued with.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'What people call it.' }),
    version: t.exposeInt('version', { description: 'Rises when what stands under the name changes.' }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'Attempts in all, the first included.' }),
    maxLost: t.exposeInt('maxLost', { description: 'How many of them may end with the death of their worker.' }),
    delaysMs: t.field({
      type: ['Int'],
      description: 'The waits after the first, second, … attempt, in milliseconds; the last one repeats.',
      resolve: ({ delaysMs }) => delaysMs,
    }),
    jitterPercent: t.int({
      description: 'How much of a wait is random, in percent: waits are shorter by up to that much.',
      resolve: ({ jitter }) => Math.round(jitter * 100),
    }),
    timeoutMs: t.exposeInt('timeoutMs', { description: 'Longest time that one attempt may take.' }),
    maxElapsedMs: t.field({
      type: 'BigInt',
      nullable: true,
      description: 'Longest time from the begin of the first attempt to that of another; null: no such limit.',
      resolve: ({ maxElapsedMs }) => (maxElapsedMs === null ? null : milliseconds(maxElapsedMs)),
    }),
    rules: t.field({
      type: [JobErrorRule],
      description: 'What differs per class of errors.',
      resolve: ({ rules }) => Object.entries(rules).map(([failureClass, rule]) => ({ failureClass, ...rule })),
    }),
    preview: t.field({
      type: [JobPolicyPreview],
      description: 'When attempts begin and what becomes of the job, for each class of errors.',
      resolve: (policy) => policyPreview(policy),
    }),
  }),
})

export const JobTypeState = builder.objectRef<TypeRow>('JobTypeState').implement({
  description: 'A job type, as the newest release that knows it has declared it, and how it is.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Its name, dotted: `orgmodel.resolution`.' }),
    class: t.expose('class', { type: JobClass, description: 'What kind of job it is.' }),
    policy: t.expose('policy', {
      type: JobPolicy,
      complexity: 0,
      description: 'How often new jobs of it may be tried.',
    }),
    motivation: t.exposeString('motivation', {
      nullable: true,
      description: 'Why its policy is wider than its class allows; null when it is not.',
    }),
    idempotency: t.exposeString('idempotency', {
      nullable: true,
      description: 'Why a second run does no harm; null when it is tried once only.',
    }),
    payloadVersion: t.exposeInt('payloadVersion', { description: 'The version of its payload’s shape.' }),
    dependency: t.exposeString('dependency', {
      nullable: true,
      description:
        'The outside service that all of its jobs need; null when that depends on the job, or there is none.',
    }),
    maxRunning: t.exposeInt('maxRunning', {
      nullable: true,
      description: 'How many may run at once over all processes; null: no such limit.',
    }),
    maxRunningPerTenant: t.exposeInt('maxRunningPerTenant', {
      nullable: true,
      description: 'How many may run at once per tenant; null: no such limit.',
    }),
    rateCount: t.exposeInt('rateJobs', {
      nullable: true,
      description: 'How many may begin per tenant in `ratePerMs`; null: no such limit.',
    }),
    ratePerMs: t.exposeInt('ratePerMs', {
      nullable: true,
      description: 'The time in which `rateCount` may begin, in milliseconds.',
    }),
    breakers: t.expose('breakers', {
      type: [JobBreaker],
      description: 'Its circuit breakers that are open or have counted a failure; others are closed.',
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when nothing of it is begun; null when it is not paused.',
    }),
    pausedBy: t.exposeString('pausedBy', { nullable: true, description: 'The operator who paused it.' }),
    pausedReason: t.exposeString('pausedReason', { nullable: true, description: 'Why it was paused.' }),
    failingSinceAt: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it keeps failing; null when it does not.',
    }),
    workerCount: t.exposeInt('workers', {
      description: 'How many workers that are alive know it; 0: nobody will run its jobs.',
    }),
    declaredAt: t.expose('declaredAt', { type: 'DateTime', description: 'When a release declared it last.' }),
  }),
})

/** Job types by name. */
export const typeLoader = operatedLoader(async ({ database }) => {
  const rows = await readTypes(database)
  return new Map(rows.map((row) => [row.type, row]))
})

builder.queryField('jobTypes', (t) =>
  t.field({
    type: [JobTypeState],
    ...forOperators('jobs.read'),
    description: 'The job types of this installation, by name. For operators.',
    resolve: (_root, _args, { database }) => readTypes(database),
  }),
)
