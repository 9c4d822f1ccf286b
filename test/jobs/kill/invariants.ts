import type pg from 'pg'
import { queryable } from '../../../src/database/index.ts'
import { rollUpCounts } from '../../../src/jobs/index.ts'
import { MAX_ATTEMPTS, MAX_LOST } from './domain.ts'

interface FinishedJob {
  readonly id: string
  readonly tenant_id: string
  readonly type: string
  readonly status: string
  readonly attempt: number
  readonly attempt_base: number
  readonly lost: number
  readonly claim_epoch: number
  readonly idempotency_key: string | null
}

interface Event {
  readonly job_id: string
  readonly attempt: number
  readonly claim_epoch: number
  readonly from: string
  readonly to: string
  readonly failure_class: string | null
  readonly code: string | null
  readonly reason: string | null
  readonly worker_id: string | null
  readonly actor: string
  readonly type: string
  readonly started_at: Date | null
  readonly recorded_at: Date
}

interface Told {
  readonly job_id: string
  readonly attempt: number
  readonly status: string
  readonly failure_class: string | null
}

interface Effect {
  readonly job_id: string
  readonly kind: string
  readonly attempt: number
  readonly claim_epoch: number
}

/** J33, with the pair that design adds: what runs may be given back. */
const LEGAL: Readonly<Record<string, readonly string[]>> = {
  SCHEDULED: ['CANCELLED'],
  PROCESSING: ['SUCCEEDED', 'RETRY_SCHEDULED', 'FAILED', 'CANCELLED', 'SCHEDULED'],
  RETRY_SCHEDULED: ['CANCELLED', 'FAILED'],
  FAILED: ['SCHEDULED', 'CANCELLED'],
}

/**
 * What must be true of a run's jobs once nothing moves any more, whatever died on the way; the sentences say what is
 * not. An empty list is the proof. `alive`: the workers whose lease held all the time.
 */
export async function violations(pool: pg.Pool, run: string, alive: ReadonlySet<string>): Promise<string[]> {
  const rows = async <Row>(text: string) => (await pool.query(text, [run])).rows as Row[]
  // Every slot that fired wants its job.
  const jobsOfRun = `select job_id from wanted where run = $1
    union all select job_id from job_slot where schedule = $1 and job_id is not null`
  const ofRun = `job_id in (${jobsOfRun})`
  const left = await rows<{ id: string; what: string }>(
    `select job.id, concat_ws(' ', type, payload->>'plan', status, 'of', worker_id, 'whose lease ends',
       lease_until - clock_timestamp(), 'claimed', clock_timestamp() - claimed_at, 'ago, due', due - clock_timestamp()) as what
     from job left join job_worker on job_worker.id = job.worker_id where starts_with(correlation_id, $1)`,
  )
  const finished = await rows<FinishedJob>('select * from job_finished where starts_with(correlation_id, $1)')
  const wanted = await rows<{ job_id: string }>(jobsOfRun)
  // A job's events are written under its row's lock, so their numbers are in the order in which they happened.
  const events = groups(await rows<Event>('select * from job_event where starts_with(correlation_id, $1) order by id'))
  const effects = groups(await rows<Effect>(`select * from effect where ${ofRun}`))
  const told = groups(await rows<Told>(`select * from told where ${ofRun} order by id`))

  const history = (id: string) => (events.get(id) ?? []).map(said).join(', ')
  const problems = left.map(({ id, what }) => `${id} is still there: ${what}; its history: ${history(id)}`)
  const places = new Map<string, number>()
  for (const { id } of [...finished, ...left]) places.set(id, (places.get(id) ?? 0) + 1)
  for (const { job_id } of wanted)
    if (places.get(job_id) !== 1)
      problems.push(`${job_id} was enqueued and stands in ${places.get(job_id) ?? 0} places`)
  const known = new Set(wanted.map(({ job_id }) => job_id))
  for (const { id } of finished)
    if (!known.has(id)) problems.push(`${id} exists although its transaction did not commit`)

  const keys = new Set<string>()
  for (const { type, tenant_id, idempotency_key: key } of finished) {
    if (key === null) continue
    const whole = `${tenant_id} ${type} ${key}`
    if (keys.has(whole)) problems.push(`the key ${whole} has several jobs`)
    keys.add(whole)
  }
  for (const [id, own] of events)
    for (const { failure_class, worker_id } of own)
      if (failure_class === 'LOST' && worker_id !== null && alive.has(worker_id))
        problems.push(`${id} was taken from a worker that lived; its history: ${history(id)}`)

  problems.push(...limitProblems([...events.values()].flat()))
  for (const job of finished) {
    const own = events.get(job.id) ?? []
    for (const problem of [
      ...historyProblems(job, own),
      ...effectProblems(job, effects.get(job.id) ?? []),
      ...toldProblems(job, own, effects.get(job.id) ?? [], told.get(job.id) ?? []),
    ])
      problems.push(`${job.id} (${job.type}, ${job.status}) ${problem}; its history: ${history(job.id)}`)
  }
  return [...problems, ...(await countProblems(pool))]
}

/** Added up, the stored counts are what a plain count finds, of this run and of all before it. */
async function countProblems(pool: pg.Pool): Promise<string[]> {
  await rollUpCounts(queryable(pool, false))
  const { rows } = await pool.query<{ what: string; stored: string; there: string }>(
    `with there as (select tenant_id, type, status, count(*) as jobs from job_finished group by 1, 2, 3)
     select concat_ws(' ', status, type, 'of', tenant_id) as what, coalesce(c.jobs, 0) as stored,
       coalesce(there.jobs, 0) as there
     from job_count c full join there using (tenant_id, type, status)
     where coalesce(c.jobs, 0) <> coalesce(there.jobs, 0)`,
  )
  return rows.map(({ what, stored, there }) => `${stored} ${what} are counted and ${there} are there`)
}

/** The history is a path of legal pairs, one event per claim, with every attempt counted once. */
function historyProblems(job: FinishedJob, events: readonly Event[]): string[] {
  const problems: string[] = []
  let status = 'SCHEDULED'
  let epoch = 0
  let spent = 0
  let base = 0
  let lost = 0
  for (const event of events) {
    const queued = status === 'SCHEDULED' || status === 'RETRY_SCHEDULED'
    if (event.from !== status && !(queued && event.from === 'PROCESSING'))
      problems.push(`was ${status} and then left ${event.from}`)
    if (!LEGAL[event.from]?.includes(event.to)) problems.push(`went from ${event.from} to ${event.to}`)
    if (event.from === 'PROCESSING') {
      epoch++
      if (event.attempt !== spent + 1) problems.push(`ended attempt ${event.attempt} after ${spent}`)
      if (event.to !== 'SCHEDULED') spent = event.attempt
      if (event.failure_class === 'LOST') lost++
    } else if (event.from === 'FAILED' && event.to === 'SCHEDULED') {
      base = spent
      // The next loss of a job that was given up for its losses is final again.
      lost = Math.min(lost, MAX_LOST)
    }
    if (event.claim_epoch !== epoch) problems.push(`has claim ${event.claim_epoch} where ${epoch} was next`)
    if (spent - base > MAX_ATTEMPTS) problems.push(`had attempt ${spent - base} of ${MAX_ATTEMPTS}`)
    if (lost > MAX_LOST && event.to === 'RETRY_SCHEDULED') problems.push(`goes on after ${lost} lost workers`)
    status = event.to
  }
  if (status !== job.status) problems.push(`ends as ${status}`)
  if (epoch !== job.claim_epoch) problems.push(`has ${epoch} ended claims of ${job.claim_epoch}`)
  if (spent !== job.attempt || lost !== job.lost)
    problems.push(`says ${job.attempt} attempts, ${job.lost} lost, and had ${spent}, ${lost}`)
  return problems
}

/**
 * Of the type that may run once at a time, no attempt began before the one before it had ended. A worker whose lease is
 * over does not count as running, although its end is written later.
 */
function limitProblems(events: readonly Event[]): string[] {
  const attempts = events
    .filter((event) => event.type === 'kill.limited' && event.started_at !== null && event.failure_class !== 'LOST')
    .toSorted((a, b) => a.started_at!.getTime() - b.started_at!.getTime())
  return attempts.flatMap((attempt, index) => {
    const next = attempts[index + 1]
    // Both times are rounded to milliseconds.
    return next !== undefined && next.started_at!.getTime() < attempt.recorded_at.getTime() - 2
      ? [`${next.job_id} ran while ${attempt.job_id} did, which may run alone only`]
      : []
  })
}

/** What a job did in the database it did once, under the claim that ended it; what did not succeed did nothing. */
function effectProblems(job: FinishedJob, effects: readonly Effect[]): string[] {
  const done = effects.filter(({ kind }) => kind === 'done')
  const problems: string[] = []
  if (done.length > 1) problems.push(`was done ${done.length} times`)
  if (done.length > 0 && job.status !== 'SUCCEEDED') problems.push('was done')
  if (done.some(({ attempt, claim_epoch }) => attempt !== job.attempt || claim_epoch !== job.claim_epoch))
    problems.push('was done under another claim')
  const steps = effects.filter(({ kind }) => kind === 'step').map(({ claim_epoch }) => claim_epoch)
  if (new Set(steps).size !== steps.length) problems.push('did a step twice under one claim')
  return problems
}

const NOT_BEGUN: ReadonlySet<string | null> = new Set(['job.not_begun', 'job.breaker_open'])

/** The domain was told of each ending that its handler did not write itself: once, and as it was. */
function toldProblems(
  job: FinishedJob,
  events: readonly Event[],
  effects: readonly Effect[],
  told: readonly Told[],
): string[] {
  if (job.type === 'kill.quiet') return told.length === 0 ? [] : ['has no domain to tell and told one']
  const byHandler = ({ to, code }: Event): boolean =>
    job.type === 'kill.batch'
      ? to === 'SUCCEEDED' || code === 'kill.planned'
      : to === 'SUCCEEDED' && effects.some(({ kind }) => kind === 'done')
  const expected = events
    // What did not begin changed nothing; of an operator's act the domain is told too.
    .filter(
      (event) =>
        (event.from === 'PROCESSING' || event.actor === 'olga') && !NOT_BEGUN.has(event.reason) && !byHandler(event),
    )
    .map((event) => `${event.attempt} ${event.to} ${event.failure_class}`)
  const heard = told.map((one) => `${one.attempt} ${one.status} ${one.failure_class}`)
  return expected.join() === heard.join() ? [] : [`told its domain "${heard.join()}" instead of "${expected.join()}"`]
}

const said = (event: Event): string =>
  `${event.claim_epoch}: ${event.attempt} ${event.from} → ${event.to} ${event.code ?? event.reason ?? ''}`.trim()

function groups<Row extends { readonly job_id: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>()
  for (const row of rows) {
    const group = found.get(row.job_id)
    if (group === undefined) found.set(row.job_id, [row])
    else group.push(row)
  }
  return found
}
