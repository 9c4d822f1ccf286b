import DataLoader from 'dataloader'
import { attemptsForOperators, fromTenantColumn, MOST_ATTEMPTS, type JobAttempt as Attempt } from '../../jobs/index.ts'
import { jobsById, type JobRow } from '../../jobs/operating/index.ts'
import { builder } from '../builder.ts'
import { connectionType } from '../connection.ts'
import type { ApiContext } from '../context.ts'
import { encodeId } from '../id.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { FailureClass, JobStatus } from '../job-enums.ts'

/** A reader of single things over all tenants, all of one operation at once. */
export function operatedLoader<Value>(
  readMany: (context: ApiContext, ids: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (context: ApiContext) => DataLoader<string, Value | null> {
  const make = (context: ApiContext) =>
    new DataLoader<string, Value | null>(async (ids) => {
      const found = await readMany(context, ids)
      return ids.map((id) => found.get(id) ?? null)
    })
  return (context) => context.once(make, make)
}

/** Jobs by UUID, for operators. */
export const jobLoader = operatedLoader(({ database }, ids) => jobsById(database, ids))

const attemptsLoader = operatedLoader(({ database }, ids) => attemptsForOperators(database, ids, { withStacks: true }))

const JobResolution = describedEnum('JobResolution', 'What became of a failed job without the engine.', {
  HANDLED: 'An operator dealt with it outside of the engine.',
})

export const JobFailure = builder.objectRef<NonNullable<JobRow['failure']>>('JobFailure').implement({
  description: 'Why an attempt failed, without anything personal or secret.',
  fields: (t) => ({
    class: t.expose('class', { type: FailureClass, description: 'What kind of failure it is.' }),
    code: t.exposeString('code', { description: 'Stable code, to decide and to search by.' }),
    message: t.exposeString('message', { description: 'What went wrong, safe to show.' }),
  }),
})

const JobAttempt = builder.objectRef<Attempt>('JobAttempt').implement({
  description: 'One attempt of a job that ended, or one act on it while it did not run.',
  fields: (t) => ({
    attempt: t.exposeInt('attempt', { description: 'Which attempt, from 1; 0 before the first.' }),
    previousStatus: t.expose('from', { type: JobStatus, description: 'Where the job was before it.' }),
    status: t.expose('to', { type: JobStatus, description: 'Where the job was after it.' }),
    failure: t.expose('failure', {
      type: JobFailure,
      nullable: true,
      complexity: 0,
      description: 'Why it failed; null when it did not.',
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it was stopped, given back or acted on.' }),
    actor: t.exposeString('actor', { description: 'The operator whose act it was, or `system`.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it began; null for an act on a job that did not run.',
    }),
    endedAt: t.expose('endedAt', { type: 'DateTime', description: 'When it ended.' }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next one was planned; null when none was.',
    }),
    correlationId: t.exposeString('correlationId', { description: 'Of the request that it goes back to.' }),
    stack: t.exposeString('stack', {
      nullable: true,
      description: 'Where in the code it failed, redacted and cut; null when it did not or nothing was kept.',
    }),
  }),
})

export const OperatedJob = builder.objectRef<JobRow>('OperatedJob').implement({
  description:
    'A job as operators see it, of whichever tenant, waiting, running or over. It shows nothing of what the job is ' +
    'about but its display name.',
  fields: (t) => ({
    id: t.id({ description: 'Opaque id.', resolve: ({ jobId }) => encodeId('OperatedJob', jobId) }),
    uuid: t.expose('jobId', { type: 'UUID', description: 'The id that logs and events name it by.' }),
    type: t.exposeString('type', { description: 'Its job type, dotted: `orgmodel.resolution`.' }),
    tenantUuid: t.expose('tenantId', {
      type: 'UUID',
      nullable: true,
      description: 'The tenant it works for; null for a job of the installation itself.',
    }),
    displayName: t.exposeString('displayName', { description: 'What its domain calls it.' }),
    status: t.expose('status', { type: JobStatus, description: 'Where it is.' }),
    priority: t.exposeInt('priority', { description: 'Higher goes first among the jobs of its tenant and type.' }),
    attempt: t.exposeInt('attempt', { description: 'How many attempts have begun in all.' }),
    earlierAttemptCount: t.exposeInt('attemptBase', {
      description: 'How many of those belong to earlier windows: each manual retry opens a new one.',
    }),
    maxAttempts: t.exposeInt('maxAttempts', { description: 'How many attempts a window has at most.' }),
    lostCount: t.exposeInt('lost', { description: 'How many attempts ended with the death of their worker.' }),
    dueAt: t.expose('dueAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is due; null while it runs, while it is held and when it is over.',
    }),
    isHeld: t.exposeBoolean('held', { description: 'An operator put it aside until it is released.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was enqueued.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the present attempt was claimed; null unless it runs.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was over; null before that.',
    }),
    cancelRequestedAt: t.expose('cancelRequestedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When somebody asked it to stop while it ran; it ends by who is first.',
    }),
    failure: t.expose('failure', {
      type: JobFailure,
      nullable: true,
      complexity: 0,
      description: 'Why its last attempt failed; null when that one did not.',
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why it was cancelled or how it was handled.' }),
    resolution: t.expose('resolution', {
      type: JobResolution,
      nullable: true,
      description: 'Set when somebody dealt with the failed job without the engine.',
    }),
    correlationId: t.exposeString('correlationId', {
      description: 'Of the request that it goes back to; everything it does carries the same.',
    }),
    triggeredBy: t.exposeString('triggeredBy', {
      description: 'Subject on whose behalf it was enqueued, or `system`.',
    }),
    workerUuid: t.expose('workerId', {
      type: 'UUID',
      nullable: true,
      description: 'The worker that runs it; null unless it runs.',
    }),
    attempts: t.field({
      type: [JobAttempt],
      description: `Its attempts that ended and the acts on it, the oldest first; of more than ${MOST_ATTEMPTS} the newest.`,
      complexity: { field: 1, multiplier: 1 },
      resolve: async ({ jobId }, _args, context) => (await attemptsLoader(context).load(jobId)) ?? [],
    }),
  }),
})

export const OperatedJobConnection = connectionType(OperatedJob, 'jobs, the newest first')

/** What `tenantUuid` of an input means: the UUID of zeros is the installation. */
export const TENANT_UUID = 'UUID of the tenant; the UUID of zeros for the installation’s own jobs.'
export const tenantOf = (tenantUuid: string): string | null => fromTenantColumn(tenantUuid)
