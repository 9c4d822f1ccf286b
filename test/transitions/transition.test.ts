import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { queryable, statement } from '../../src/database/index.ts'
import { readEvents, type LogEvent } from '../../src/events/index.ts'
import { lockRows } from '../../src/transitions/statements.ts'
import { allOrderedPairs, created, lock, transition, transitionMany } from '../../src/transitions/index.ts'
import { useDatabase } from '../harness/database.ts'
import { expectDatabaseAgrees } from './agreement.ts'
import { ACT, createParcelTable, pack, packOne, PARCEL, type ParcelStatus } from './parcel.ts'

const db = useDatabase()
const TENANT = randomUUID()
const OTHER_TENANT = randomUUID()

beforeAll(() => createParcelTable(db.pool))

const inTx = <T>(body: Parameters<typeof db.database.transaction<T>>[1], tenant = TENANT) =>
  db.database.transaction(tenant, body)
const INSERT_AS = statement<unknown>(
  'test.parcel.insert_as',
  'insert into parcel (tenant_id, id, status, version) values ($1::uuid, $2::uuid, $3::text::parcel_status, 1)',
)
const parcel = async (id: string) => (await db.pool.query('select * from parcel where id = $1', [id])).rows[0]
const eventsOf = async (id: string): Promise<readonly LogEvent[]> => {
  // Not through the reader: these events may lie above the watermark for a moment.
  const { rows } = await db.pool.query('select * from event where subject_id = $1 order by sequence', [id])
  return rows
}

test('the rows of transition_pair and the trigger come from the lifecycle', async () => {
  await expectDatabaseAgrees(db.database, [PARCEL])
})

test('locks are taken in ascending order of id, however the rows lie and are asked for', async () => {
  const ids = Array.from({ length: 20 }, () => randomUUID()).toSorted()
  await inTx(async (tx) => {
    for (const id of ids.toReversed()) {
      await tx.query(INSERT_AS, [id, 'PACKED'])
      await created(tx, PARCEL, { id, status: 'PACKED', act: ACT })
    }
  })
  const locked = await inTx((tx) => tx.query(lockRows(PARCEL), [JSON.stringify(ids.toReversed())]))
  expect(locked.map(({ id }) => id)).toEqual(ids)
})

test('a transition writes the row, its next version and the event that tells of it', async () => {
  const id = await packOne(db.database, TENANT)
  const moved = await inTx((tx) =>
    transition(tx, PARCEL, {
      id,
      to: 'SENT',
      act: { actor: 'anna', correlationId: 'c-1' },
      reason: 'PAID',
      data: { carrier: 'bike' },
      set: { note: `it's "fragile"`, weight: 1.5, sent_at: '2026-01-02T03:04:05.678Z', tags: { a: [1] } },
    }),
  )
  expect(moved).toEqual({ id, from: 'PACKED', to: 'SENT', version: 2 })
  expect(await parcel(id)).toMatchObject({
    status: 'SENT',
    version: 2,
    note: `it's "fragile"`,
    weight: '1.5',
    sent_at: new Date('2026-01-02T03:04:05.678Z'),
    tags: { a: [1] },
  })
  expect(await eventsOf(id)).toMatchObject([
    { subject_kind: 'parcel', sequence: 1, type: 'parcel.packed', from: null, to: 'PACKED', tenant_id: TENANT },
    {
      subject_kind: 'parcel',
      sequence: 2,
      type: 'parcel.sent',
      from: 'PACKED',
      to: 'SENT',
      reason: 'PAID',
      data: { carrier: 'bike' },
      actor: 'anna',
      correlation_id: 'c-1',
    },
  ])
})

describe('every ordered pair of statuses', () => {
  const waysTo: Record<ParcelStatus, ParcelStatus[]> = {
    PACKED: [],
    SENT: ['SENT'],
    DELIVERED: ['SENT', 'DELIVERED'],
    LOST: ['SENT', 'LOST'],
  }
  for (const { from, to, allowed } of allOrderedPairs(PARCEL)) {
    test(`${from ?? '(creation)'} → ${to} is ${allowed ? 'made' : 'refused'}`, async () => {
      if (from === null) {
        const id = randomUUID()
        const creating = inTx(async (tx) => {
          await tx.query(INSERT_AS, [id, to])
          await created(tx, PARCEL, { id, status: to, act: ACT })
        })
        if (allowed) await creating
        else await expect(creating).rejects.toThrow(`The parcel cannot be created as ${to}.`)
        expect(await parcel(id)).toEqual(allowed ? expect.objectContaining({ status: to, version: 1 }) : undefined)
        return
      }
      const id = await packOne(db.database, TENANT)
      for (const way of waysTo[from]) await inTx((tx) => transition(tx, PARCEL, { id, to: way, act: ACT }))
      const { version } = await parcel(id)
      const moving = inTx((tx) => transition(tx, PARCEL, { id, to, act: ACT }))
      if (allowed) expect(await moving).toEqual({ id, from, to, version: version + 1 })
      else await expect(moving).rejects.toMatchObject({ code: 'INVALID_TRANSITION', from, to })
      expect(await parcel(id)).toMatchObject(allowed ? { status: to, version: version + 1 } : { status: from, version })
      expect(await eventsOf(id)).toHaveLength(allowed ? version + 1 : version)
    })
  }
})

test('a refusal says what is possible', async () => {
  const id = await packOne(db.database, TENANT)
  await expect(inTx((tx) => transition(tx, PARCEL, { id, to: 'LOST', act: ACT }))).rejects.toThrow(
    'The parcel is PACKED and cannot become LOST. Possible now: SENT.',
  )
})

test('R31 another version than expected is a conflict that tells the present one', async () => {
  const id = await packOne(db.database, TENANT)
  await inTx((tx) => transition(tx, PARCEL, { id, to: 'SENT', act: ACT, expectedVersion: 1 }))
  await expect(
    inTx((tx) => transition(tx, PARCEL, { id, to: 'DELIVERED', act: ACT, expectedVersion: 1 })),
  ).rejects.toMatchObject({ code: 'CONFLICT', currentVersion: 2 })
  expect(await parcel(id)).toMatchObject({ status: 'SENT', version: 2 })
})

test("another tenant's row does not exist", async () => {
  const id = await packOne(db.database, TENANT)
  const foreign = { id, to: 'SENT', act: ACT } as const
  await expect(inTx((tx) => transition(tx, PARCEL, foreign), OTHER_TENANT)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await inTx((tx) => lock(tx, PARCEL, id), OTHER_TENANT)).toBeNull()
  expect(await inTx((tx) => transitionMany(tx, PARCEL, [foreign]), OTHER_TENANT)).toEqual({
    moved: [],
    refused: [{ id, status: null }],
  })
  expect(await parcel(id)).toMatchObject({ status: 'PACKED', version: 1 })
})

test('many rows move in one go, each with its own columns and reasons; the rest is named', async () => {
  const [a, b, c, d] = (await inTx((tx) => pack(tx, 4))) as [string, string, string, string]
  const gone = randomUUID()
  const { moved, refused } = await inTx((tx) =>
    transitionMany(tx, PARCEL, [
      { id: c, to: 'SENT', act: ACT, set: { note: 'c' }, data: { n: 1 } },
      { id: a, to: 'SENT', act: ACT, set: { weight: 2 }, reason: 'A', data: { n: 2 } },
      { id: b, to: 'LOST', act: ACT },
      { id: d, to: 'SENT', act: ACT, expectedVersion: 9 },
      { id: gone, to: 'SENT', act: ACT },
    ]),
  )
  expect(moved).toEqual([c, a].map((id) => ({ id, from: 'PACKED', to: 'SENT', version: 2 })))
  expect(refused).toEqual([
    { id: b, status: 'PACKED' },
    { id: d, status: 'PACKED' },
    { id: gone, status: null },
  ])
  expect(await parcel(a)).toMatchObject({ note: null, weight: '2' })
  expect(await parcel(c)).toMatchObject({ note: 'c', weight: null })
  const { rows } = await db.pool.query(
    'select subject_id, reason from event where subject_id = any($1) and sequence = 2 order by id',
    [[a, b, c, d]],
  )
  expect(rows).toEqual([
    { subject_id: c, reason: null },
    { subject_id: a, reason: 'A' },
  ])
})

test('one row cannot be asked to move twice in one batch', async () => {
  const id = await packOne(db.database, TENANT)
  const twice = { id, to: 'SENT', act: ACT } as const
  await expect(inTx((tx) => transitionMany(tx, PARCEL, [twice, twice]))).rejects.toThrow('twice at once')
})

test('a row may move several times in one transaction', async () => {
  const id = await packOne(db.database, TENANT)
  await inTx(async (tx) => {
    for (const to of ['SENT', 'SENT', 'DELIVERED'] as const) await transition(tx, PARCEL, { id, to, act: ACT })
  })
  expect(await parcel(id)).toMatchObject({ status: 'DELIVERED', version: 4 })
})

test.each(['tenant_id', 'id', 'status', 'version', 'a; drop table parcel', 'A'])(
  'a transition does not set the column %j',
  async (column) => {
    const id = await packOne(db.database, TENANT)
    const setting = inTx((tx) => transition(tx, PARCEL, { id, to: 'SENT', act: ACT, set: { [column]: 'x' } }))
    await expect(setting).rejects.toThrow('cannot set the column')
  },
)

test('two transitions of one row at once wait for each other; the second sees what the first made of it', async () => {
  const id = await packOne(db.database, TENANT)
  const holder = await db.pool.connect()
  await holder.query('begin')
  await holder.query('select from parcel where id = $1 for update', [id])
  const moves = [1, 2].map(() => inTx((tx) => transition(tx, PARCEL, { id, to: 'SENT', act: ACT, expectedVersion: 1 })))
  const outcomes = Promise.allSettled(moves)
  // Both stand at the lock before either goes on.
  await expect
    .poll(async () => {
      const { rows } = await db.pool.query(
        `select count(*)::int as n from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database() and query like '%from parcel t%for update%'`,
      )
      return rows[0].n
    })
    .toBe(2)
  await holder.query('commit')
  holder.release()
  const settled = await outcomes
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'CONFLICT', currentVersion: 2 },
  })
  expect(await parcel(id)).toMatchObject({ status: 'SENT', version: 2 })
})

test('overlapping batches in opposite order never deadlock', async () => {
  const ids = await inTx((tx) => pack(tx, 20))
  await inTx((tx) =>
    transitionMany(
      tx,
      PARCEL,
      ids.map((id) => ({ id, to: 'SENT', act: ACT }) as const),
    ),
  )
  const resend = (order: string[]) =>
    inTx((tx) =>
      transitionMany(
        tx,
        PARCEL,
        order.map((id) => ({ id, to: 'SENT', act: ACT }) as const),
      ),
    )
  const batches = Array.from({ length: 12 }, (_, n) => resend(n % 2 === 0 ? ids : ids.toReversed()))
  for (const { moved } of await Promise.all(batches)) expect(moved).toHaveLength(20)
  const { rows } = await db.pool.query('select distinct version from parcel where id = any($1)', [ids])
  expect(rows).toEqual([{ version: 14 }])
})

test('events of transitions reach a reader of the log', async () => {
  const id = await packOne(db.database, TENANT)
  await expect
    .poll(async () => {
      const page = await readEvents(queryable(db.pool, false), {
        tenantId: TENANT,
        after: null,
        limit: 1000,
        subjectIds: [id],
      })
      return page.events.map((event) => event.type)
    })
    .toEqual(['parcel.packed'])
})
