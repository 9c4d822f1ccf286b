import type { Database, Queryable, TransactionOptions, Tx } from '../../database/index.ts'
import { storableJson } from '../json.ts'
import { PROVE_CLAIMS } from '../sql/claim-proof.ts'
import { SETTLE, type EndingRow, type SettledRow } from '../sql/settle.ts'
import { INSTALLATION } from '../tenant.ts'
import type { Attempt } from './attempt.ts'
import type { Ending } from './ending.ts'

/** The claim is another worker's by now, or the job is over: whatever this transaction did is rolled back. */
export class Superseded extends Error {
  constructor() {
    super('The job is no longer held by this worker; the transaction was rolled back.')
    this.name = 'Superseded'
  }
}

/** A transaction of the job's tenant; of all tenants when the job is the installation's. */
export function jobTransaction<T>(
  database: Database,
  tenantId: string,
  body: (tx: Tx) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  if (tenantId !== INSTALLATION) return database.transaction(tenantId, body, options)
  return database.systemTransaction(
    ({ prisma, run }) =>
      body({ tenantId, prisma, run, query: (statement, values) => run(statement, [tenantId, ...values]) }),
    options,
  )
}

/** Locks the rows of these claims and returns those that still stand. */
export async function proveClaims(tx: Queryable, attempts: readonly Attempt[]): Promise<Set<string>> {
  const claims = attempts.map(({ job }) => ({ id: job.id, claimEpoch: job.claimEpoch }))
  const rows = await tx.run(PROVE_CLAIMS, [JSON.stringify(claims)])
  return new Set(rows.map((row) => row.id))
}

/** Settles attempts on whatever connection; answers with the jobs whose claim still stood. */
export function settle(
  on: Queryable,
  endings: readonly { readonly attempt: Attempt; readonly ending: Ending }[],
): Promise<SettledRow[]> {
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
