import { randomUUID } from 'node:crypto'
import type pg from 'pg'

/** A column as the tests need it: its name in Prisma is that of the database in camel case. */
export interface Column {
  readonly column: string
  readonly field: string
  readonly type: string
  /** Place in the primary key, from 1; 0 outside it. */
  readonly keyPosition: number
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The columns of a table that can be written. */
export async function columnsOf(pool: pg.Pool, table: string): Promise<Column[]> {
  const { rows } = await pool.query<{ column: string; type: string; keyPosition: number }>(
    `select a.attname as column, t.typname as type, coalesce(array_position(k.conkey, a.attnum), 0) as "keyPosition"
       from pg_attribute a join pg_type t on t.oid = a.atttypid
       left join pg_constraint k on k.conrelid = a.attrelid and k.contype = 'p'
      where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped
        and a.attgenerated = '' and a.attidentity <> 'a'
      order by a.attnum`,
    [table],
  )
  return rows.map((row) => ({ ...row, field: camel(row.column) }))
}

/** Lets a table take any row that has the right types: what is tested is who may reach it, not what it says. */
export async function dropRules(pool: pg.Pool): Promise<void> {
  await pool.query(`do $$ declare rule record; begin
    for rule in select conname, conrelid::regclass as on_table from pg_constraint
                 where contype in ('c', 'f') and connamespace = 'public'::regnamespace and conparentid = 0 and conislocal loop
      execute format('alter table %s drop constraint %I cascade', rule.on_table, rule.conname);
    end loop;
    for rule in select tgname, tgrelid::regclass as on_table from pg_trigger where not tgisinternal and tgparentid = 0 loop
      execute format('drop trigger %I on %s', rule.tgname, rule.on_table);
    end loop;
  end $$`)
}

/** A value of the type, different each time where the type allows. */
export function anyValue(type: string): unknown {
  switch (type) {
    case 'uuid':
      return randomUUID()
    case 'text':
    case 'varchar':
    case 'bpchar':
      return randomUUID().slice(0, 8)
    case 'int2':
    case 'int4':
      return Math.floor(Math.random() * 30_000)
    case 'int8':
      return BigInt(Math.floor(Math.random() * 1e9))
    case 'numeric':
    case 'float8':
      return 1.5
    case 'bool':
      return false
    case 'timestamptz':
    case 'timestamp':
    case 'date':
      return new Date('2026-01-01T00:00:00Z')
    case 'jsonb':
      return {}
    case '_text':
    case '_uuid':
    case '_varchar':
      return []
    default:
      throw new Error(`Say what a value of the type ${type} looks like.`)
  }
}
