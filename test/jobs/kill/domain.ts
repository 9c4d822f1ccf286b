/**
 * A domain whose tables show what was done and how often, and job types that do as their payload says. Shared by
 * scenarios, histories and the process that is killed for real.
 */
import { z } from 'zod'
import { type Queryable, statement, type Tx } from '../../../src/database/index.ts'
import { Failure } from '../../../src/errors/index.ts'
import {
  defineJob,
  defineSchedule,
  enqueueMany,
  failed,
  type JobContext,
  type JobDefinition,
  type JobOutcome,
  type JobResult,
  notApplicable,
  postponed,
  retryAfter,
  type Schedule,
  succeeded,
} from '../../../src/jobs/index.ts'

/** What one attempt does. An attempt beyond the end of the plan does the last. */
const ACTS = [
  // Succeeds with a row of its own, in the transaction that settles the job.
  'DO',
  // The same after a step of its own.
  'STEP',
  // Succeeds without a transaction.
  'PLAIN',
  'OUTPUT',
  'THROW',
  // Writes its row and throws, so that the row must vanish.
  'UNDO',
  'FAIL',
  'GONE',
  'LATER',
  // Goes back once, then does its work.
  'POSTPONE',
  // Runs for longer than a stop waits, then does its work.
  'LINGER',
  // Runs until somebody cancels it.
  'WAIT',
] as const
export type Act = (typeof ACTS)[number]

const payload = z.object({ plan: z.array(z.enum(ACTS)).min(1) })
export type Plan = z.infer<typeof payload>

export const MAKE_TABLES = `
  create table wanted (job_id uuid primary key, run text not null);
  create table effect (job_id uuid not null, kind text not null, attempt int not null, claim_epoch int not null);
  create index on effect (job_id);
  create table told (id bigserial primary key, job_id uuid not null, attempt int not null, status text not null,
    failure_class text, reason text);
  create index on told (job_id)`

const WANT = statement<never>(
  'kill.want',
  'insert into wanted (job_id, run) select value::uuid, $2 from jsonb_array_elements_text($1::jsonb)',
)

/**
 * The row knows the claim under which it was written, and which attempt its worker took it for: two of a job would be
 * two workers.
 */
const EFFECT = statement<never>(
  'kill.effect',
  `insert into effect (job_id, kind, attempt, claim_epoch)
   select job.id, $2, mine.attempt, claim_epoch
   from jsonb_to_recordset($1::jsonb) as mine(id uuid, attempt int) join job on job.id = mine.id`,
)
const TELL = statement<never>(
  'kill.tell',
  `insert into told (job_id, attempt, status, failure_class, reason)
   select "jobId", attempt, status, class, reason
   from jsonb_to_recordset($1::jsonb) as t("jobId" uuid, attempt int, status text, class text, reason text)`,
)
const WENT_BACK = statement<{ times: number }>(
  'kill.went_back',
  `select count(*)::int as times from job_event where job_id = $1::uuid and reason = 'not yet'`,
)

const write = (tx: Queryable, jobs: readonly { readonly id: string; readonly attempt: number }[], kind: string) =>
  tx.run(EFFECT, [JSON.stringify(jobs.map(({ id, attempt }) => ({ id, attempt }))), kind])

const mine = ({ jobId: id, attempt }: JobContext) => [{ id, attempt }]

const actOf = ({ plan }: Plan, attempt: number): Act => plan[Math.min(attempt, plan.length) - 1]!

async function onOutcome(tx: Tx, outcomes: readonly JobOutcome<Plan>[]): Promise<void> {
  const rows = outcomes.map((outcome) => ({ ...outcome, class: outcome.failure?.class ?? null }))
  await tx.run(TELL, [JSON.stringify(rows)])
}

const trouble = () => new Failure('TRANSIENT', 'kill.trouble', 'As planned.')

async function carryOut(plan: Plan, context: JobContext): Promise<JobResult> {
  switch (actOf(plan, context.attempt)) {
    case 'DO':
      return done(context)
    case 'STEP':
      await context.step((tx) => write(tx, mine(context), 'step'))
      return done(context)
    case 'PLAIN':
      return succeeded()
    case 'OUTPUT':
      return succeeded({ attempt: context.attempt })
    case 'THROW':
      throw trouble()
    case 'UNDO':
      return context.transaction(async (tx) => {
        await write(tx, mine(context), 'done')
        throw trouble()
      })
    case 'FAIL':
      return failed('kill.planned', 'As planned.')
    case 'GONE':
      return notApplicable('gone')
    case 'LATER':
      return retryAfter(0, 'kill.later', 'As planned.')
    case 'POSTPONE': {
      const [back] = await context.step((tx) => tx.run(WENT_BACK, [context.jobId]))
      return back!.times === 0 ? postponed(0, 'not yet') : done(context)
    }
    case 'LINGER':
      await Promise.race([untilAborted(context.signal), new Promise((resolve) => setTimeout(resolve, LINGER_MS))])
      return done(context)
    case 'WAIT':
      return untilAborted(context.signal)
  }
}

const LINGER_MS = 600

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    else signal.addEventListener('abort', () => reject(signal.reason as Error))
  })

const done = (context: JobContext) =>
  context.transaction(async (tx) => {
    await write(tx, mine(context), 'done')
    return succeeded()
  })

export const MAX_ATTEMPTS = 3
export const MAX_LOST = 2

function kind(type: string, own: Partial<JobDefinition<Plan>>): JobDefinition<Plan> {
  return defineJob<Plan>({
    type,
    class: 'FOLLOW_UP',
    payload,
    timeoutMs: 20_000,
    idempotency: 'Its effects stand in the transaction that ends it.',
    policy: { maxAttempts: MAX_ATTEMPTS, maxLost: MAX_LOST, delaysMs: [0], jitter: 0 },
    displayName: ({ plan }) => plan.join(' '),
    ...own,
  })
}

/** Its domain is told of every ending. */
export const toldJob = kind('kill.told', { run: carryOut, onOutcome })

/** Nobody is told. */
export const quietJob = kind('kill.quiet', { run: carryOut })

/** Together in one transaction; a job whose plan is to throw takes the transaction with it. */
export const batchJob = kind('kill.batch', {
  onOutcome,
  runMany: async (jobs, tx) => {
    const acts = jobs.map((job) => actOf(job.payload, job.attempt))
    await write(
      tx,
      jobs.filter((_, index) => acts[index] === 'DO'),
      'done',
    )
    if (acts.includes('THROW')) throw trouble()
    return acts.map((act) => (act === 'FAIL' ? failed('kill.planned', 'As planned.') : succeeded()))
  },
})

/** One at a time over all processes. */
export const limitedJob = kind('kill.limited', { run: carryOut, onOutcome, limits: { running: 1 } })

/** Two failures in a row open its breaker for a moment; then one job tries. */
export const dependentJob = kind('kill.dependent', {
  run: carryOut,
  onOutcome,
  dependency: 'service',
  breaker: { failures: 2, openMs: 20, longestOpenMs: 50 },
})

export const jobDefinitions = [toldJob, quietJob, batchJob, limitedJob, dependentJob]

/** A schedule of the run's own: each slot has one job, however many processes fire it. */
export const scheduleOf = (run: string): Schedule =>
  defineSchedule<Plan>({ name: run, job: quietJob, payload: { plan: ['DO'] }, everyMs: 1_000, overlap: 'ALLOW' })

export interface Wanted {
  readonly tenantId: string
  readonly plan: readonly Act[]
  readonly jobId?: string
  readonly idempotencyKey?: string
}

/** Enqueues jobs in the caller's transaction, together with the domain's rows that say that they are wanted. */
export async function want(
  tx: Queryable,
  run: string,
  definition: JobDefinition<Plan>,
  wanted: readonly Wanted[],
): Promise<string[]> {
  const jobs = await enqueueMany(
    tx,
    definition,
    wanted.map(({ plan, ...own }) => ({
      payload: { plan: [...plan] },
      correlationId: run,
      triggeredBy: 'kill test',
      ...own,
    })),
  )
  await tx.run(WANT, [JSON.stringify(jobs.filter((job) => job.created).map((job) => job.jobId)), run])
  return jobs.map((job) => job.jobId)
}
