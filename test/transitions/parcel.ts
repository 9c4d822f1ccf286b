import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { statement, type Database, type Tx } from '../../src/database/index.ts'
import { createdMany, defineLifecycle, lifecycleSql } from '../../src/transitions/index.ts'

/** A lifecycle of the tests' own: with a pair onto itself, a way back, and two ends. */
export const PARCEL = defineLifecycle({
  kind: 'parcel',
  table: 'parcel',
  noun: 'The parcel',
  statuses: {
    PACKED: { description: 'Ready to go.' },
    SENT: { description: 'On its way.' },
    DELIVERED: { description: 'Arrived.', terminal: true },
    LOST: { description: 'Gone.', terminal: true },
  },
  pairs: [
    { from: null, to: 'PACKED', type: 'parcel.packed', when: 'packed' },
    { from: 'PACKED', to: 'SENT', type: 'parcel.sent', when: 'handed over' },
    { from: 'SENT', to: 'SENT', type: 'parcel.resent', when: 'sent again' },
    { from: 'SENT', to: 'PACKED', type: 'parcel.returned', when: 'came back' },
    { from: 'SENT', to: 'DELIVERED', type: 'parcel.delivered', when: 'arrived' },
    { from: 'SENT', to: 'LOST', type: 'parcel.lost', when: 'never arrived' },
  ],
})

export type ParcelStatus = keyof typeof PARCEL.statuses

export const ACT = { actor: 'tester', correlationId: 'test' }

export async function createParcelTable(pool: pg.Pool): Promise<void> {
  await pool.query(`
    create type parcel_status as enum ('PACKED', 'SENT', 'DELIVERED', 'LOST');
    create table parcel (
      tenant_id uuid not null, id uuid not null, status parcel_status not null, version integer not null,
      note text, weight numeric, sent_at timestamptz(3), tags jsonb,
      primary key (tenant_id, id)
    );
    ${lifecycleSql(PARCEL)}`)
}

/** New parcels of the transaction's tenant, with their first events. */
export async function pack(tx: Tx, count = 1): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID())
  await tx.query(INSERT, [JSON.stringify(ids)])
  await createdMany(
    tx,
    PARCEL,
    ids.map((id) => ({ id, status: 'PACKED' as const, act: ACT })),
  )
  return ids
}

export const packOne = async (database: Database, tenantId: string): Promise<string> =>
  (await database.transaction(tenantId, (tx) => pack(tx)))[0]!

const INSERT = statement<unknown>(
  'test.parcel.insert',
  `insert into parcel (tenant_id, id, status, version)
   select $1::uuid, id::uuid, 'PACKED', 1 from jsonb_array_elements_text($2::jsonb) id`,
)
