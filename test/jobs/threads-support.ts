import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeAll } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'
import type { JobsOptions } from '../../src/jobs/index.ts'
import type { TestDatabase } from '../harness/database.ts'

/** Compiled by the build that precedes the tests: worker threads run compiled JavaScript only. */
export const DIST = join(projectFolder(), 'dist')
export const DEFINITIONS = join(DIST, 'test/jobs/fixtures/definitions.js')

/** The tables that the fixtures' jobs act on. */
export function useEffects(db: TestDatabase) {
  beforeAll(async () => {
    await db.pool.query(`create table effect (n int primary key, status text not null, times int not null);
      create table ran (job_id uuid not null, attempt int not null)`)
  })
  return {
    async of(numbers: readonly number[]) {
      const { rows } = await db.pool.query('select n, status, times from effect where n = any($1) order by n', [
        numbers,
      ])
      return rows as { n: number; status: string; times: number }[]
    },
    /** Attempts that got to their end more than once. */
    async double() {
      return (await db.pool.query('select job_id, attempt from ran group by 1, 2 having count(*) > 1')).rows
    },
    async left() {
      return (await db.pool.query('select count(*)::int as n from job')).rows[0].n as number
    },
    /** Nobody passes the gate of `fixture.gated` until the returned function is called. */
    async closeGate() {
      const client = await db.pool.connect()
      await client.query('select pg_advisory_lock(4711)')
      return async () => {
        await client.query('select pg_advisory_unlock(4711)')
        client.release()
      }
    },
    /** How many stand before the gate. */
    async atTheGate() {
      const { rows } = await db.pool.query(
        `select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = 4711 and not granted`,
      )
      return rows[0].n as number
    },
  }
}

/** Processes of a test; those left are killed after it. */
export function useProcesses(db: TestDatabase) {
  const running: ChildProcess[] = []
  afterEach(() => {
    for (const child of running.splice(0)) child.kill('SIGKILL')
  })
  return {
    async start(options: Partial<JobsOptions> = {}, dist = DIST): Promise<ChildProcess> {
      const argument = JSON.stringify({ databaseUrl: db.url, leaseMs: 2_000, ...options })
      const child = fork(join(dist, 'test/jobs/fixtures/process.js'), [argument], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      running.push(child)
      await new Promise<void>((resolve, reject) => {
        child.on('message', (message) => message === 'ready' && resolve())
        child.once('exit', (code) => reject(new Error(`The process ended with code ${code} before it was ready.`)))
      })
      return child
    },
    async stop(child: ChildProcess): Promise<number | null> {
      child.send('stop')
      const [code] = (await once(child, 'exit')) as [number | null]
      return code
    },
    async kill(child: ChildProcess): Promise<void> {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
