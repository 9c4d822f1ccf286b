import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { projectFolder, type Queryable, queryable } from '../../src/database/index.ts'
import { clockSkew } from '../../src/server/doctor/checks/clock-skew.ts'
import { oldTransactions } from '../../src/server/doctor/checks/old-transactions.ts'
import { examine, exitCodeOf, type Examination } from '../../src/server/doctor/examine.ts'
import { hasPgBouncer, startPooler } from '../harness/pooler.ts'
import { useServer } from '../harness/server.ts'

// A server of its own: the doctor looks at transactions and statistics of the whole server.
const db = useServer()

/** The whole server's; by the file of settings, which a command line would overrule for good. */
async function autovacuumOn(on: boolean): Promise<void> {
  await db.pool.query(`alter system set autovacuum = ${on ? 'on' : 'off'}`)
  await db.pool.query('select pg_reload_conf()')
}

beforeAll(() => autovacuumOn(false))

const of = (check: string, found: readonly Examination[]) =>
  found.filter((one) => one.check === check).map(({ finding }) => finding)

const findings = async (check: string) => of(check, await examine(db.database))

const TENANT = '0193a000-0000-7000-8000-00000000000a'

async function waitingJob(type: string, due: string): Promise<void> {
  await db.pool.query(
    `insert into job (id, tenant_id, type, policy_id, due, correlation_id, triggered_by, display_name, payload)
     values (gen_random_uuid(), $1, $2, 1, now() + $3::interval, 'c', 'test', 'test', '{}')`,
    [TENANT, type, due],
  )
}

const aliveWorker = (types: object) =>
  db.pool.query(
    `insert into job_worker (id, process, slot, lease_until, types)
     values (gen_random_uuid(), 'test', 0, now() + interval '1 hour', $1)`,
    [JSON.stringify(types)],
  )

afterEach(async () => {
  await db.pool.query('delete from job; delete from job_worker; delete from job_schedule; delete from job_type')
})

describe('what the doctor finds', () => {
  test('a clock that is off, by the shortest of several round trips', async () => {
    const shifted = (seconds: number): Queryable => ({
      async run(statement, values) {
        const rows = await db.database.run<{ now: number }>(statement as never, values)
        return rows.map(({ now }) => ({ now: now - seconds * 1000 })) as never
      },
    })
    const stateAt = async (seconds: number) => (await clockSkew.look(shifted(seconds)))[0]!
    expect(await stateAt(0)).toMatchObject({ state: 'good' })
    expect(await stateAt(10)).toMatchObject({ state: 'warning', says: expect.stringContaining('10 s ahead of') })
    expect(await stateAt(-90)).toMatchObject({ state: 'bad', says: expect.stringContaining('90 s behind') })
  })

  test('who holds the watermark, and since when', async () => {
    const holder = new pg.Client({ connectionString: db.url, application_name: 'a long import' })
    await holder.connect()
    try {
      await holder.query('begin')
      await holder.query('select pg_current_xact_id()')
      await expect
        .poll(() => findings('transactions'), { timeout: 20_000, interval: 250 })
        .toEqual([
          {
            state: 'warning',
            says: expect.stringMatching(
              /^The watermark of the event log is held for \d+ s by process \d+ \("a long import", user regie, idle in transaction/,
            ),
            next: expect.stringContaining('pg_terminate_backend'),
          },
        ])
    } finally {
      await holder.end()
    }
    await expect.poll(() => findings('transactions')).toMatchObject([{ state: 'good' }])
  })

  test('who is another user is not taken for nobody, by a role that may not see since when', async () => {
    await db.pool.query(`create role ordinary login password 'x'`)
    const asking = new URL(db.url)
    asking.username = 'ordinary'
    asking.password = 'x'
    const ordinary = new pg.Client({ connectionString: asking.href })
    const holder = new pg.Client({ connectionString: db.url, application_name: 'a hidden import' })
    await Promise.all([ordinary.connect(), holder.connect()])
    const seen = () => oldTransactions.look(queryable(ordinary, false))
    try {
      expect(await seen()).toMatchObject([{ state: 'good' }])
      await holder.query('begin')
      await holder.query('select pg_current_xact_id()')
      expect(await seen()).toEqual([
        {
          state: 'warning',
          says: expect.stringMatching(/^The transaction of process \d+ \("a hidden import", user regie, state hidden/),
          next: 'grant pg_read_all_stats to "ordinary";',
        },
      ])
      await db.pool.query('grant pg_read_all_stats to ordinary')
      expect(await seen()).toMatchObject([{ state: 'good' }])
    } finally {
      await Promise.all([ordinary.end(), holder.end()])
      await db.pool.query('drop role ordinary')
    }
  })

  test('the few that are named are those that matter: none that only reads elsewhere, none that has just begun', async () => {
    const elsewhere = new URL(db.url)
    elsewhere.pathname = '/template1'
    const readers = [elsewhere.href, ...Array.from({ length: 6 }, () => db.url)].map(
      (connectionString) => new pg.Client({ connectionString, application_name: 'a report' }),
    )
    const writer = new pg.Client({ connectionString: db.url, application_name: 'a late import' })
    try {
      for (const client of [...readers, writer]) {
        await client.connect()
        await client.query('begin isolation level repeatable read; select')
      }
      await writer.query('select pg_current_xact_id()')
      // As if all had been open for longer: the clock of the question, not of the transactions, is what can be moved.
      const later = (seconds: number): Queryable => ({
        run: (statement, values) =>
          queryable(db.pool, false).run(
            {
              ...statement,
              text: statement.text.replaceAll('clock_timestamp()', `(clock_timestamp() + interval '${seconds} s')`),
            },
            values,
          ),
      })
      expect((await oldTransactions.look(later(10))).map(({ says }) => says)).toEqual([
        expect.stringMatching(/^The watermark .*"a late import"/),
      ])
      const found = (await oldTransactions.look(later(3_600))).map(({ says }) => says)
      expect(found).toHaveLength(5)
      expect(found[0]).toContain('a late import')
      expect(found.filter((says) => says.includes('database template1'))).toEqual([])
    } finally {
      for (const client of [...readers, writer]) await client.end()
    }
  })

  test('autovacuum that is off, and a hot table that lost its settings', async () => {
    expect(await findings('autovacuum')).toMatchObject([
      { state: 'bad', says: expect.stringContaining('autovacuum is off') },
    ])
    await autovacuumOn(true)
    await expect.poll(() => findings('autovacuum')).toMatchObject([{ state: 'good' }])
    await db.pool.query('alter table job reset (autovacuum_vacuum_threshold)')
    expect(await findings('autovacuum')).toMatchObject([
      { state: 'warning', next: 'alter table job set (autovacuum_vacuum_threshold=1000);' },
    ])
    await db.pool.query('alter table job set (autovacuum_vacuum_threshold = 1000)')
    await autovacuumOn(false)
  })

  test('dead rows that nothing clears away', async () => {
    expect(await findings('bloat')).toMatchObject([{ state: 'good' }])
    await db.pool.query(
      `insert into job_count (tenant_id, type, status, jobs)
       select gen_random_uuid(), 'doctor.bloat', 'SUCCEEDED', 1 from generate_series(1, 6000)`,
    )
    await db.pool.query(`delete from job_count where type = 'doctor.bloat'; select pg_stat_force_next_flush()`)
    await expect
      .poll(() => findings('bloat'), { timeout: 15_000 })
      .toMatchObject([{ state: 'warning', says: expect.stringMatching(/^"job_count" holds \d+ dead rows for 0 live/) }])
    await db.pool.query('vacuum job_count')
    await expect.poll(() => findings('bloat'), { timeout: 15_000 }).toMatchObject([{ state: 'good' }])
  })

  test('J106 jobs that wait too long, workers that are not there, types that nobody knows', async () => {
    expect(await findings('workers')).toMatchObject([{ state: 'warning', says: 'No worker is alive.' }])
    expect(await findings('backlog')).toEqual([
      { state: 'good', says: 'No job has been due for more than a minute, and no type is failing.' },
    ])
    await waitingJob('doctor.soon', '1 hour')
    await waitingJob('doctor.late', '-5 minutes')
    await waitingJob('doctor.very_late', '-2 hours')
    expect(await findings('workers')).toMatchObject([{ state: 'bad', says: 'No worker is alive, and jobs wait.' }])
    expect(await findings('backlog')).toMatchObject([
      { state: 'bad', says: 'The oldest due job of type "doctor.very_late" has been waiting for 2 h.' },
      { state: 'warning', says: 'The oldest due job of type "doctor.late" has been waiting for 5 min.' },
    ])
    await aliveWorker({ 'doctor.late': 1, 'doctor.soon': 1 })
    expect(await findings('workers')).toMatchObject([{ state: 'good' }])
    expect(await findings('types')).toMatchObject([
      { state: 'bad', says: '1 job(s) wait whose type "doctor.very_late" no living worker knows.' },
    ])
  })

  test('a type that is paused waits on purpose', async () => {
    await waitingJob('doctor.paused', '-2 hours')
    await db.pool.query(
      `insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms)
       values (1, 'FOLLOW_UP', 1, 1, '{}', 0, 1000) on conflict do nothing`,
    )
    await db.pool.query(
      `insert into job_type (type, class, policy_name, policy_id, payload_version, paused_at, paused_by)
       values ('doctor.paused', 'FOLLOW_UP', 'follow_up', 1, 1, now(), 'somebody')`,
    )
    expect(await findings('backlog')).toMatchObject([{ state: 'good' }])
  })

  test('J86 a type that keeps failing, a service that does not answer, what killed its workers', async () => {
    await db.pool.query(
      `insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms)
       values (1, 'FOLLOW_UP', 1, 1, '{}', 0, 1000) on conflict do nothing`,
    )
    await db.pool.query(
      `insert into job_type (type, class, policy_name, policy_id, payload_version, failing_since)
       values ('doctor.fails', 'FOLLOW_UP', 'follow_up', 1, 1, now())`,
    )
    await db.pool.query(
      `insert into job_breaker (type, dependency, state, opened_at) values ('doctor.fails', 'the post', 'OPEN', now())`,
    )
    await db.pool.query(
      `insert into job_finished (id, tenant_id, type, status, urgency, attempt, lost, claim_epoch, policy_id, created_at,
         failure_class, code, correlation_id, triggered_by, display_name, payload)
       values (gen_random_uuid(), $1, 'doctor.kills', 'FAILED', 0, 2, 2, 2, 1, now(), 'LOST', 'job.quarantined', 'c',
         'test', 'test', '{}')`,
      [TENANT],
    )
    expect(await findings('backlog')).toMatchObject([
      { state: 'bad', says: expect.stringContaining('"doctor.fails" keeps failing since') },
      { state: 'warning', says: expect.stringContaining('wait for "the post", which does not answer') },
      { state: 'warning', says: '1 job(s) of type "doctor.kills" killed their workers and are in quarantine.' },
    ])
    await db.pool.query('delete from job_breaker; delete from job_finished')
  })

  test('a schedule that nobody fires', async () => {
    await db.pool.query(
      `insert into job_schedule (name, every_ms, next_slot) values
       ('doctor.stopped', 1000, now() - interval '1 hour'), ('doctor.runs', 1000, now() + interval '1 second')`,
    )
    expect(await findings('schedules')).toMatchObject([
      { state: 'bad', says: 'The schedule "doctor.stopped" should have fired 60 min ago.' },
    ])
  })

  test('rows that came before their partition', async () => {
    expect(await findings('partitions')).toMatchObject([{ state: 'good' }])
    await db.pool.query(
      `insert into job_event_default (epoch, xid, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, correlation_id)
       values (99, '1', gen_random_uuid(), gen_random_uuid(), 'x', 1, 1, 'PROCESSING', 'SUCCEEDED', 'system', 'c')`,
    )
    expect(await findings('partitions')).toMatchObject([
      { state: 'warning', says: expect.stringContaining('"job_event_default"') },
    ])
  })

  test('a question that cannot be answered is bad news of its own and keeps no other', async () => {
    const found = await examine(db.database, [
      { name: 'broken', look: () => Promise.reject(new Error('permission denied for table job')) },
      clockSkew,
    ])
    expect(found).toMatchObject([
      { check: 'broken', finding: { state: 'bad', says: expect.stringContaining('permission denied') } },
      { check: 'clock', finding: { state: 'good' } },
    ])
  })
})

test('exit codes: what is bad is 1, a warning only when asked for', () => {
  const found = (state: 'good' | 'warning' | 'bad') => [{ check: 'x', finding: { state, says: '' } }]
  expect(['good', 'warning', 'bad'].map((state) => exitCodeOf(found(state as never), false))).toEqual([0, 0, 1])
  expect(['good', 'warning', 'bad'].map((state) => exitCodeOf(found(state as never), true))).toEqual([0, 1, 1])
})

describe('npm run doctor', () => {
  beforeAll(async () => {
    await aliveWorker({})
  })

  const doctor = (args: readonly string[], url = db.url) =>
    spawnSync(process.execPath, [join(projectFolder(), 'dist/src/server/doctor/main.js'), ...args], {
      env: { ...process.env, DATABASE_URL: url },
      encoding: 'utf8',
    })

  test('prints a line per finding with what to do, and gives scripts JSON and an exit code', () => {
    const text = doctor([])
    expect(text.stdout).toMatch(/^BAD +autovacuum +autovacuum is off.*\n +Turn it on: alter system set/m)
    expect(text.status).toBe(1)
    const json = doctor(['--json', '--strict'])
    expect(json.status).toBe(1)
    expect(JSON.parse(json.stdout)).toContainEqual({
      check: 'clock',
      finding: { state: 'good', says: expect.stringContaining('clock is') },
    })
  })

  test.skipIf(!hasPgBouncer)('leaves nothing behind in a session that it shares with others', async () => {
    const pooler = await startPooler(db.url, 1)
    const other = new pg.Client({ connectionString: pooler.url })
    try {
      await other.connect()
      const before = await other.query('show statement_timeout')
      expect(doctor(['--json'], pooler.url).status).toBe(1)
      await other.query('create temporary table written on commit drop as select 1')
      expect((await other.query('show statement_timeout')).rows).toEqual(before.rows)
    } finally {
      await other.end()
      await pooler.stop()
    }
  })

  test('says in three sentences why it cannot look, with an exit code of its own', () => {
    const away = doctor([], 'postgresql://nobody:secret@127.0.0.1:1/none')
    expect(away.status).toBe(2)
    expect(away.stderr).toContain('Nothing listens there.')
    expect(away.stderr).not.toContain('secret')
    expect(doctor(['--fast']).stderr).toContain('The argument "--fast" means nothing here.')
  })
})
