import type { Database } from '../../src/database/index.ts'
import { Claimer } from '../../src/jobs/engine/claimer.ts'
import { Permits } from '../../src/jobs/engine/permits.ts'
import { JobRegistry } from '../../src/jobs/index.ts'
import { keepWorkers } from '../../src/jobs/lease.ts'
import type { ClaimedRow } from '../../src/jobs/sql/claim.ts'
import { SETTLE_SUCCEEDED } from '../../src/jobs/sql/settle-succeeded.ts'
import { noop } from './definitions.ts'

const DAY_MS = 86_400_000

/** A worker without handlers: the engine's own claims and endings, to be timed one by one. */
export class BareWorker {
  readonly #database: Database
  readonly #claimer: Claimer

  private constructor(database: Database, workerId: string) {
    this.#database = database
    this.#claimer = new Claimer({
      database,
      registry: new JobRegistry([noop]),
      workerId,
      logger: console,
      transactions: new Permits(1),
      onCommitted() {},
      signal: null,
    })
  }

  static async start(database: Database): Promise<BareWorker> {
    const workerId = '0193a000-0000-7000-8000-0000000000ff'
    await keepWorkers(database, [{ id: workerId, slot: 0 }], DAY_MS)
    return new BareWorker(database, workerId)
  }

  async claim(jobs: number): Promise<readonly ClaimedRow[]> {
    return (await this.#claimer.claim({ jobs, atOnce: jobs })).jobs
  }

  async end(jobs: readonly ClaimedRow[]): Promise<void> {
    const values = [jobs.map(({ id }) => id), jobs.map(({ claimEpoch }) => claimEpoch), jobs.map(() => 1)]
    await this.#database.run(SETTLE_SUCCEEDED, values)
  }
}
