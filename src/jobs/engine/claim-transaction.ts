import type { Database, Queryable, Tx } from '../../database/index.ts'
import { Failure } from '../../errors/index.ts'
import { storableJson } from '../json.ts'
import { PROVE_CLAIMS } from '../sql/claim-proof.ts'
import { SETTLE, type EndingRow, type SettledRow } from '../sql/settle.ts'
import { INSTALLATION } from '../tenant.ts'
import { SETTLE_SUCCEEDED } from '../sql/settle-succeeded.ts'
import type { Attempt } from './attempt.ts'
import { type Ending, SUCCEEDED } from './ending.ts'

/** An attempt, and how it ended. */
export interface Ended {
  readonly attempt: Attempt
  readonly ending: Ending
}

/** The claim is another worker's by now, or the job is over: whatever this transaction did is rolled back. */
export class Superseded extends Error {
  constructor() {
    super('The job is no longer held by this worker; the transaction was rolled back.')
    this.name = 'Superseded'
  }
}

/** Longest transaction in which a domain is told of endings. */
const TELLING_MS = 15_000

/**
 * A transaction of the job's tenant; of all tenants when the job is the installation's. Over at the time-out even
 * when `body` never answers (Prisma closes the transaction then, but goes on waiting for the body): whoever hangs
 * would keep a permit for good, and a few of them every transaction of the thread.
 */
export function jobTransaction<T>(
  database: Database,
  tenantId: string,
  body: (tx: Tx) => Promise<T>,
  timeoutMs = TELLING_MS,
): Promise<T> {
  const inTime = (tx: Tx) => withinTime(timeoutMs, body(tx))
  if (tenantId !== INSTALLATION) return database.transaction(tenantId, inTime, { timeoutMs })
  return database.systemTransaction(
    ({ prisma, run }) =>
      inTime({ tenantId, prisma, run, query: (statement, values) => run(statement, [tenantId, ...values]) }),
    { timeoutMs },
  )
}

async function withinTime<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Failure('TIMEOUT', 'job.timeout', `The transaction took longer than its ${timeoutMs} ms.`)),
      timeoutMs,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Locks the rows of these claims and returns those that still stand. */
export async function proveClaims(tx: Queryable, attempts: readonly Attempt[]): Promise<Set<string>> {
  const claims = attempts.map(({ job }) => ({ id: job.id, claimEpoch: job.claimEpoch }))
  const rows = await tx.run(PROVE_CLAIMS, [JSON.stringify(claims)])
  return new Set(rows.map((row) => row.id))
}

/**
 * Settles attempts on whatever connection; answers with the jobs whose claim still stood.
 */
export function settle(on: Queryable, endings: readonly Ended[]): Promise<SettledRow[]> {
  const rows = endings.map(
    ({ attempt, ending }): EndingRow => ({
      ...ending,
      id: attempt.job.id,
      claimEpoch: attempt.job.claimEpoch,
      ranMs: attempt.ranMs(),
    }),
  )
  return on.run(SETTLE, [storableJson(rows)])
}

/** The same for jobs that succeeded without an output, when nobody wants to know more of them than that. */
export function settleSucceeded(on: Queryable, attempts: readonly Attempt[]): Promise<{ readonly id: string }[]> {
  return on.run(SETTLE_SUCCEEDED, [
    attempts.map(({ job }) => job.id),
    attempts.map(({ job }) => job.claimEpoch),
    attempts.map((attempt) => attempt.ranMs()),
  ])
}

/** Settles attempts in the handlers' own transaction; answers with each job's status. @throws Superseded */
export async function settleHere(tx: Queryable, endings: readonly Ended[]): Promise<Map<string, SettledRow['status']>> {
  const plain = endings.every(({ ending }) => ending === SUCCEEDED)
  const statuses = new Map<string, SettledRow['status']>()
  if (plain)
    for (const { id } of await settleSucceeded(
      tx,
      endings.map(({ attempt }) => attempt),
    ))
      statuses.set(id, 'SUCCEEDED')
  else for (const { id, status } of await settle(tx, endings)) statuses.set(id, status)
  if (statuses.size !== endings.length) throw new Superseded()
  for (const { attempt, ending } of endings) attempt.settledBy = ending
  return statuses
}
