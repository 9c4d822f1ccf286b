import { statement, type Queryable } from '../../database/index.ts'

/** From here on the transaction waits three seconds for a lock: a person is waiting for the answer. */
export async function waitShortly(tx: Queryable): Promise<void> {
  await tx.run(WAIT_SHORTLY, [])
}

const WAIT_SHORTLY = statement<unknown>('jobs.wait_shortly', `select set_config('lock_timeout', '3s', true)`)
