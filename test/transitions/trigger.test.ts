import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { sqlState, statement } from '../../src/database/index.ts'
import { useDatabase } from '../harness/database.ts'
import { createParcelTable, pack, packOne } from './parcel.ts'

// What writes past the one transition function is refused at the end of its transaction.
const db = useDatabase()
const TENANT = randomUUID()

beforeAll(() => createParcelTable(db.pool))

/** The SQLSTATE with which the transaction of these statements fails; null when it commits. */
async function stateOf(...statements: string[]): Promise<string | null> {
  try {
    await db.pool.query(['begin', ...statements, 'commit'].join(';'))
    return null
  } catch (error) {
    return sqlState(error)
  }
}

const event = (id: string, sequence: number, from: string | null, to: string, with_: Record<string, string> = {}) => {
  const columns: Record<string, string | null> = {
    tenant_id: TENANT,
    subject_kind: 'parcel',
    subject_id: id,
    sequence: String(sequence),
    type: 'parcel.something',
    from,
    to,
    actor: 'tester',
    correlation_id: 'test',
    ...with_,
  }
  const values = Object.values(columns).map((value) => (value === null ? 'null' : `'${value}'`))
  return `insert into event (${Object.keys(columns)
    .map((name) => `"${name}"`)
    .join()}) values (${values.join()})`
}
const update = (id: string, set: string) => `update parcel set ${set} where id = '${id}'`

test('the right row with the right event passes, in either order', async () => {
  const [a, b] = [await packOne(db.database, TENANT), await packOne(db.database, TENANT)]
  const sent = `status = 'SENT', version = 2`
  expect(await stateOf(update(a, sent), event(a, 2, 'PACKED', 'SENT'))).toBeNull()
  expect(await stateOf(event(b, 2, 'PACKED', 'SENT'), update(b, sent))).toBeNull()
})

test('other columns may change by themselves', async () => {
  const id = await packOne(db.database, TENANT)
  expect(await stateOf(update(id, `note = 'x'`))).toBeNull()
})

test('RG001 a status without a new version', async () => {
  const id = await packOne(db.database, TENANT)
  expect(await stateOf(update(id, `status = 'SENT'`), event(id, 2, 'PACKED', 'SENT'))).toBe('RG001')
})

test.each([
  ['a jump of two', 3],
  ['a step back', 0],
])('RG002 %s', async (_, version) => {
  const id = await packOne(db.database, TENANT)
  const log = event(id, Math.max(version, 1), 'PACKED', 'SENT')
  expect(await stateOf(update(id, `status = 'SENT', version = ${version}`), log)).toBe('RG002')
})

test('RG002 a row that does not begin at version 1', async () => {
  const id = randomUUID()
  const insert = `insert into parcel (tenant_id, id, status, version) values ('${TENANT}', '${id}', 'PACKED', 2)`
  expect(await stateOf(insert, event(id, 2, null, 'PACKED'))).toBe('RG002')
})

test('RG003 a pair that the lifecycle does not have', async () => {
  const id = await packOne(db.database, TENANT)
  expect(await stateOf(update(id, `status = 'LOST', version = 2`), event(id, 2, 'PACKED', 'LOST'))).toBe('RG003')
})

test('RG003 a creation in a status that nothing is created in', async () => {
  const id = randomUUID()
  const insert = `insert into parcel (tenant_id, id, status, version) values ('${TENANT}', '${id}', 'LOST', 1)`
  expect(await stateOf(insert, event(id, 1, null, 'LOST'))).toBe('RG003')
})

test('RG004 a version without an event, also when the status stays', async () => {
  const id = await packOne(db.database, TENANT)
  const sent = `status = 'SENT', version = 2`
  expect(await stateOf(update(id, sent))).toBe('RG004')
  expect(await stateOf(update(id, sent), event(id, 2, 'PACKED', 'SENT'))).toBeNull()
  expect(await stateOf(update(id, 'version = 3'))).toBe('RG004')
})

test('RG004 a creation without an event', async () => {
  const insert = `insert into parcel (tenant_id, id, status, version) values ('${TENANT}', '${randomUUID()}', 'PACKED', 1)`
  expect(await stateOf(insert)).toBe('RG004')
})

test('RG004 an event that an earlier transaction wrote does not count', async () => {
  const id = await packOne(db.database, TENANT)
  expect(await stateOf(event(id, 2, 'PACKED', 'SENT'))).toBeNull()
  expect(await stateOf(update(id, `status = 'SENT', version = 2`))).toBe('RG004')
})

test.each([
  ['another sequence', { sequence: '3' }],
  ['another beginning', { from: 'SENT' }],
  ['another end', { to: 'LOST' }],
  ['another tenant', { tenant_id: randomUUID() }],
  ['another kind', { subject_kind: 'letter' }],
  ['another subject', { subject_id: randomUUID() }],
])('RG004 an event that tells of %s', async (_, with_) => {
  const id = await packOne(db.database, TENANT)
  const sent = `status = 'SENT', version = 2`
  expect(await stateOf(update(id, sent), event(id, 2, 'PACKED', 'SENT', with_))).toBe('RG004')
})

test('a transaction through Prisma is told before its commit, with the code', async () => {
  const id = await packOne(db.database, TENANT)
  const failing = db.database.transaction(TENANT, (tx) =>
    tx.query(
      statement('test.parcel.bare', `update parcel set status = 'SENT' where tenant_id = $1::uuid and id = $2::uuid`),
      [id],
    ),
  )
  expect(sqlState(await failing.catch((error: unknown) => error))).toBe('RG001')
})

test('its look-up goes through the index on (xid, subject_id), with and without statistics', async () => {
  const lookUp = async () => {
    const { rows } = await db.pool.query(`explain (costs off) select from event e
      where e.epoch = event_log_current_epoch() and e.xid = pg_current_xact_id()
        and e.subject_id = '${randomUUID()}' and e.sequence = 1
        and e.tenant_id is not distinct from '${TENANT}' and e.subject_kind = 'parcel'
        and coalesce(e."from", '') = '' and e."to" = 'PACKED'`)
    return rows.map((row) => row['QUERY PLAN'] as string).join('\n')
  }
  expect(await lookUp()).toMatch(/xid_subject_id_idx|event_of_transaction/)
  // One event per transaction is what makes the primary key look as good.
  await db.pool.query(
    `insert into event (xid, tenant_id, subject_kind, subject_id, sequence, type, actor, correlation_id)
     select (1000000 + g)::text::xid8, $1, 'x', gen_random_uuid(), 1, 'x', 'x', 'x' from generate_series(1, 20000) g`,
    [TENANT],
  )
  await db.pool.query('vacuum analyze event')
  const plan = await lookUp()
  expect(plan).toMatch(/xid_subject_id_idx|event_of_transaction/)
  expect(plan).not.toMatch(/Index Cond: .*epoch/)
})

test('a thousand rows created in one transaction are checked one by one', async () => {
  await db.database.transaction(TENANT, (tx) => pack(tx, 1000))
  const { rows } = await db.pool.query(`select count(*)::int as n from event where subject_kind = 'parcel'`)
  expect(rows[0].n).toBeGreaterThanOrEqual(1000)
})
