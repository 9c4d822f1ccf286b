import { noop } from './definitions.ts'
import { fill, workOff } from './engine.ts'
import { figure } from './print.ts'
import type { BenchServer } from './server.ts'

/**
 * Write-ahead log of one job from enqueue to its end, with its attempt and event, without the full-page images that
 * checkpoints cause. It changes the server's settings for a moment, so only on a server of our own.
 */
export async function walPerJob(server: BenchServer, jobs: number): Promise<void> {
  if (!server.own) return console.log('wal_per_job is measured on an embedded server only: it changes a setting.')
  await server.withRegie(async (database, url) => {
    const reload = async (change: string) => {
      await database.pool.query(`alter system ${change}`)
      await database.pool.query('select pg_reload_conf()')
    }
    await reload('set full_page_writes = off')
    await database.pool.query('checkpoint')
    const { rows: before } = await database.pool.query('select pg_current_wal_insert_lsn() as lsn')
    await fill(database, noop, jobs)
    await workOff(database, url, noop.type)
    const { rows } = await database.pool.query(
      'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 as bytes',
      [before[0].lsn],
    )
    await reload('reset full_page_writes')
    figure('wal_per_job', rows[0].bytes / jobs, 'bytes')
  })
}
