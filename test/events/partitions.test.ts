import { beforeEach, describe, expect, test } from 'vitest'
import {
  bookmarkAt,
  maintainPartitions,
  raiseEpoch,
  readLog,
  type Bookmark,
  type EventLog,
  type LogPage,
  type LogPosition,
} from '../../src/events/index.ts'
import { readPage } from '../../src/events/read-sql.ts'
import { useServer } from '../harness/server.ts'
import { TENANT } from './events.ts'

// A server of its own: partitions are measured in transaction ids, which all databases of a server share.
const own = useServer()

interface Note {
  readonly text: string
}
let log: EventLog<Note> & { width: number }
let made = 0

/** A small log of the same make for every test, so that one can be filled up with a few thousand transactions. */
beforeEach(async () => {
  const table = `note_event_${++made}`
  await own.pool.query(`
    create table ${table} (
      epoch integer not null default event_log_current_epoch(), xid xid8 not null default pg_current_xact_id(),
      id bigint generated always as identity, tenant_id uuid not null, text text not null,
      recorded_at timestamptz(3) not null default clock_timestamp(), primary key (epoch, xid, id)
    ) partition by range (epoch, xid);
    select event_log_begin('${table}', 1000);`)
  log = { table, columns: 'e.text', width: 1000 }
})

const note = (text: string, ...more: string[]) =>
  own.pool.query(`insert into ${log.table} (tenant_id, text) select $1, unnest($2::text[])`, [TENANT, [text, ...more]])
const maintain = (retentionMs: number | null = null) => maintainPartitions(own.database, { log, retentionMs })
const partitions = async () =>
  (
    await own.pool.query(
      `select name, epoch, lower::text::int, upper::text::int, dropped_at is not null as dropped
       from event_log_partition where log = $1 order by epoch, lower`,
      [log.table],
    )
  ).rows as { name: string; epoch: number; lower: number; upper: number; dropped: boolean }[]
const rowsIn = async (partition: string) =>
  Number((await own.pool.query(`select count(*) as n from ${partition}`)).rows[0].n)
/** What the log holds after a bookmark, read in pages of `limit`. */
async function texts(after: Bookmark | null = null, limit = 1000): Promise<string[]> {
  const found: string[] = []
  for (let complete = false; !complete; ) {
    const page: LogPage<Note & { position: LogPosition }> = await readLog(own.database, log, {
      tenantId: TENANT,
      after,
      limit,
    })
    found.push(...page.events.map((row) => row.text))
    ;({ end: after, complete } = page)
  }
  return found
}

/** Uses up transaction ids until the server stands at `xid`. */
async function useUpTo(xid: number): Promise<void> {
  const client = await own.pool.connect()
  await client.query(`create or replace procedure use_up(upto bigint) language plpgsql as $$
    begin
      while pg_current_xact_id()::text::bigint < upto loop commit; end loop;
    end $$`)
  await client.query(`call use_up(${xid})`)
  client.release()
}

test('a new log has a range for what is written first, and the default one stays empty', async () => {
  await note('first')
  const [first, ...rest] = await partitions()
  expect(rest).toEqual([])
  expect(first).toMatchObject({ epoch: 1, lower: 0, dropped: false })
  expect(await rowsIn(first!.name)).toBe(1)
  expect(await rowsIn(`${log.table}_default`)).toBe(0)
})

test('§6 (10) the next partition is made when 80 % of the running one is used up, by whatever on the server', async () => {
  const [first] = await partitions()
  await useUpTo(Math.floor(first!.upper * 0.79))
  expect((await maintain()).made).toEqual([])
  await useUpTo(Math.ceil(first!.upper * 0.8) + 1)
  expect((await maintain()).made).toEqual([`${log.table}_1_${first!.upper}`])
  const [, second] = await partitions()
  expect(second).toMatchObject({ lower: first!.upper, upper: first!.upper + log.width })
  // Strictly above every id given out.
  const { rows } = await own.pool.query('select pg_snapshot_xmax(pg_current_snapshot())::text::int as xmax')
  expect(second!.lower).toBeGreaterThan(rows[0].xmax)
  expect((await maintain()).made).toEqual([])
  await useUpTo(first!.upper)
  await note('in the second')
  expect(await rowsIn(second!.name)).toBe(1)
})

test('any number of processes may maintain at once', async () => {
  const [first] = await partitions()
  await useUpTo(Math.ceil(first!.upper * 0.8) + 1)
  const work = await Promise.all(Array.from({ length: 6 }, () => maintain()))
  expect(work.flatMap(({ made }) => made)).toHaveLength(1)
  expect(await partitions()).toHaveLength(2)
})

test('§6 (10) events that fell into the default partition are moved out, also those of a transaction still open', async () => {
  const [first] = await partitions()
  await note('in range')
  await useUpTo(first!.upper)
  await note('too late 1', 'too late 2')
  expect(await rowsIn(`${log.table}_default`)).toBe(2)

  const open = await own.pool.connect()
  await open.query('begin')
  await open.query(`insert into ${log.table} (tenant_id, text) values ($1, 'too late 3')`, [TENANT])
  const busy = await maintain()
  expect(busy).toMatchObject({ made: [], rescued: 0, postponed: ['move', 'make'] })
  await open.query('commit')
  open.release()

  const work = await maintain()
  expect(work).toEqual({ made: [`${log.table}_1_${first!.upper}`], rescued: 3, dropped: [], postponed: [] })
  const [, second] = await partitions()
  expect(await rowsIn(second!.name)).toBe(3)
  expect(await rowsIn(`${log.table}_default`)).toBe(0)
  await note('after')
  expect(await rowsIn(second!.name)).toBe(4)
  expect(await texts()).toEqual(['in range', 'too late 1', 'too late 2', 'too late 3', 'after'])
  // The default partition is one again.
  await useUpTo(second!.upper)
  await note('late once more')
  expect(await rowsIn(`${log.table}_default`)).toBe(1)
  expect((await maintain()).rescued).toBe(1)
})

test('§6 (13) a partition goes when its youngest event is past the retention, judged by the kept times', async () => {
  const [first] = await partitions()
  await note('old')
  const cursor = (await readLog(own.database, log, { tenantId: TENANT, after: null, limit: 10 })).end
  await useUpTo(first!.upper)
  await maintain()
  await note('new')
  expect((await maintain(60_000)).dropped).toEqual([])
  const { rows } = await own.pool.query(
    'select closed_at, first_recorded_at, last_recorded_at from event_log_partition where name = $1',
    [first!.name],
  )
  expect(rows[0]).toEqual({
    closed_at: expect.any(Date),
    first_recorded_at: expect.any(Date),
    last_recorded_at: expect.any(Date),
  })
  await own.pool.query(
    `update event_log_partition set last_recorded_at = last_recorded_at - interval '61 seconds' where name = $1`,
    [first!.name],
  )
  expect((await maintain(60_000)).dropped).toEqual([first!.name])
  expect(await texts()).toEqual(['new'])
  await expect(texts(cursor)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED', path: ['after'] })
  expect(await texts(bookmarkAt(1, BigInt(first!.upper)))).toEqual(['new'])
})

test('the running partition is never dropped, however old its events', async () => {
  await note('old')
  await own.pool.query(`update event_log_partition set last_recorded_at = '2000-01-01' where log = $1`, [log.table])
  expect((await maintain(1)).dropped).toEqual([])
  expect(await texts()).toEqual(['old'])
})

test('a reader meets a partition that is being dropped: it reads all of it or is told that it has gone', async () => {
  const [first] = await partitions()
  await note('a', 'b')
  const cursor = bookmarkAt(1, 0n)
  await useUpTo(first!.upper)
  await maintain()
  await own.pool.query(`update event_log_partition set last_recorded_at = '2000-01-01' where log = $1`, [log.table])
  let reads = 0
  let told = false
  const reading = (async () => {
    while (!told) {
      try {
        expect(await texts(cursor)).toEqual(['a', 'b'])
        reads++
      } catch (error) {
        expect(error).toMatchObject({ code: 'CURSOR_EXPIRED' })
        told = true
      }
    }
  })()
  await expect.poll(() => reads).toBeGreaterThan(3)
  expect((await maintain(1)).dropped).toEqual([first!.name])
  await reading
})

test('§6 (9) a new epoch expires the cursors of the one before; a reader from the oldest event passes through both', async () => {
  await note('epoch one')
  const { end } = await readLog(own.database, log, { tenantId: TENANT, after: null, limit: 10 })
  expect(await raiseEpoch(own.database, 'an operator', 'restored from a backup')).toBe(end.epoch + 1)
  await note('epoch two')
  await expect(texts(end)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
  expect(await texts(null, 1)).toEqual(['epoch one', 'epoch two'])
  const epochs = (await partitions()).map(({ epoch, lower }) => ({ epoch, lower }))
  expect(epochs).toEqual([
    { epoch: end.epoch, lower: 0 },
    { epoch: end.epoch + 1, lower: 0 },
  ])
  expect(await rowsIn(`${log.table}_default`)).toBe(0)
})

test('§6 (9) a new epoch waits for who is writing, and who comes meanwhile writes in the new one', async () => {
  const writer = await own.pool.connect()
  await writer.query('begin')
  const insert = `insert into ${log.table} (tenant_id, text) values ('${TENANT}', $1)`
  await writer.query(insert, ['before'])
  const waiting = (sql: string) =>
    expect
      .poll(async () => {
        const { rows } = await own.pool.query(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like $1`,
          [sql],
        )
        return rows.length
      })
      .toBe(1)
  const raised = raiseEpoch(own.database, 'an operator', 'a move')
  await waiting('%event_log_raise_epoch%')
  const late = note('after')
  await waiting(`insert into ${log.table}%`)
  await writer.query('commit')
  writer.release()
  const epoch = await raised
  await late
  const { rows } = await own.pool.query(`select text, epoch from ${log.table} order by epoch`)
  expect(rows).toEqual([
    { text: 'before', epoch: epoch - 1 },
    { text: 'after', epoch },
  ])
})

test.each(['update', 'delete', 'truncate'])('a log is append-only: %s is refused', async (act) => {
  await note('stays')
  const sql = {
    update: `update ${log.table} set text = 'x'`,
    delete: `delete from ${log.table}`,
    truncate: `truncate ${log.table}`,
  }
  await expect(own.pool.query(sql[act as keyof typeof sql])).rejects.toMatchObject({ code: 'RG005' })
  expect(await texts()).toEqual(['stays'])
})

describe('§6 (5) a page reads the partitions that it needs and no others', () => {
  /** The partitions that a statement scans, under the generic plan of a prepared statement. */
  async function scanned(text: string, values: readonly (string | number)[]): Promise<string[]> {
    const client = await own.pool.connect()
    await client.query('set plan_cache_mode = force_generic_plan')
    await client.query(`prepare page as ${text}`)
    const literals = values.map((value) => `'${value}'`).join()
    const { rows } = await client.query(`explain (analyze, costs off, timing off) execute page(${literals})`)
    client.release(true)
    const lines = rows.map((row) => row['QUERY PLAN'] as string).filter((line) => !line.includes('never executed'))
    return lines.flatMap((line) => / on (note_event_\w+) e/.exec(line)?.[1] ?? []).toSorted()
  }

  test.each([true, false])('(of one tenant: %s)', async (oneTenant) => {
    // Three that are full, the running one, and two made ahead.
    for (let n = 0; n < 3; n++) {
      await note(`in ${n}`)
      await useUpTo((await partitions()).at(-1)!.upper)
      await maintain()
    }
    await note('running')
    for (let n = 0; n < 2; n++) {
      const { epoch, upper } = (await partitions()).at(-1)!
      await own.pool.query('select event_log_add_partition($1, $2, $3::text::xid8, $4::text::xid8)', [
        log.table,
        epoch,
        String(upper),
        String(upper + log.width),
      ])
    }
    const all = await partitions()
    expect(all).toHaveLength(6)
    const { epoch, lower } = all[2]!
    const values = [epoch, lower, 0, 100, epoch, ...(oneTenant ? [TENANT] : [])]
    const { text } = readPage(log, oneTenant)
    expect(await scanned(text, values)).toEqual([all[2]!.name, all[3]!.name].toSorted())
    // What does it: without the redundant condition the row comparison lets every older partition be scanned.
    const without = text.replace('and e.xid >= $2::text::xid8', '')
    expect(without).not.toBe(text)
    const full = all.slice(0, 4).map(({ name }) => name)
    expect(await scanned(without, values)).toEqual(expect.arrayContaining(full))
  })
})
