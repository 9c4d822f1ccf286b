import type { Database } from '../../src/database/index.ts'
import { noop } from './definitions.ts'
import { fill } from './engine.ts'
import { figure, ratio } from './print.ts'
import type { BenchServer } from './server.ts'
import { BareWorker } from './worker.ts'

const CLAIM = 100
const BATCH = 500
const TIMES = 20

/**
 * Buffers that one claim of 100 reads: with nothing behind it, and after many jobs were finished while somebody held a
 * snapshot, so that vacuum could remove none of what they left.
 */
export async function heldSnapshot(server: BenchServer, finished: number): Promise<void> {
  const fresh = await server.withRegie(async (database) => {
    await fill(database, noop, CLAIM * TIMES * 2, 1)
    return buffersPerClaim(database, await BareWorker.start(database))
  })
  const held = await server.withRegie(async (database) => {
    await fill(database, noop, finished + CLAIM * TIMES * 2, 1)
    const holder = await database.pool.connect()
    try {
      await holder.query('begin isolation level repeatable read')
      await holder.query('select count(*) from job_policy')
      const worker = await BareWorker.start(database)
      for (let done = 0; done < finished; done += BATCH) await worker.end(await worker.claim(BATCH))
      return await buffersPerClaim(database, worker)
    } finally {
      await holder.query('rollback')
      holder.release()
    }
  })
  figure('claim_buffers_fresh', fresh, 'buffers')
  figure('claim_buffers_held_snapshot', held, 'buffers')
  ratio('claim_buffers_held_snapshot_vs_fresh', held / fresh)
}

/** From the statistics of the table and its indexes: all blocks asked for, cached or not. */
async function buffersPerClaim(database: Database, worker: BareWorker): Promise<number> {
  const before = await blocks(database)
  const claimed = []
  for (let time = 0; time < TIMES; time++) claimed.push(...(await worker.claim(CLAIM)))
  const after = await blocks(database)
  if (claimed.length !== CLAIM * TIMES) throw new Error('There was not enough to claim.')
  return (after - before) / TIMES
}

async function blocks(database: Database): Promise<number> {
  // Each session tells what it read a moment later; this is what the sessions of the pool have to be asked for.
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      const client = await database.pool.connect()
      await client.query('select pg_stat_force_next_flush()')
      await client.query('select 1')
      client.release()
    }),
  )
  const { rows } = await database.pool.query<{ blocks: number }>(
    `select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8 as blocks
     from pg_statio_user_tables where relname = 'job'`,
  )
  return rows[0]!.blocks
}
