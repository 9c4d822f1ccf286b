import { expect } from 'vitest'
import { statement, type Queryable } from '../../src/database/index.ts'
import { CREATION, type Lifecycle } from '../../src/transitions/index.ts'

/**
 * Checks that the database allows exactly the pairs of these lifecycles: the rows of `transition_pair` equal the
 * TypeScript tables, and each lifecycle's table has the trigger with its kind.
 */
export async function expectDatabaseAgrees(db: Queryable, lifecycles: readonly Lifecycle<string>[]): Promise<void> {
  expect(lifecycles.length).toBeGreaterThan(0)
  const kinds = JSON.stringify(lifecycles.map((lifecycle) => lifecycle.kind))
  const rows = await db.run(PAIRS, [kinds])
  const expected = lifecycles.flatMap(({ kind, pairs }) =>
    pairs.map(({ from, to }) => `${kind}: ${from ?? CREATION} → ${to}`),
  )
  expect(rows.map(({ kind, from, to }) => `${kind}: ${from} → ${to}`).toSorted()).toEqual(expected.toSorted())

  const triggers = await db.run(TRIGGERS, [])
  for (const { kind, table } of lifecycles)
    expect(triggers, `the trigger of ${kind}`).toContainEqual({ table, kind, deferred: true, enabled: 'O' })
}

/** The kinds that the database has pairs for: whoever registers lifecycles compares it with the whole list. */
export const kindsInDatabase = async (db: Queryable): Promise<string[]> =>
  (await db.run(KINDS, [])).map((row) => row.kind)

const KINDS = statement<{ kind: string }>('test.kinds', 'select distinct kind from transition_pair order by kind')

const PAIRS = statement<{ kind: string; from: string; to: string }>(
  'test.pairs',
  `select kind, from_status as "from", to_status as "to" from transition_pair
   where kind in (select jsonb_array_elements_text($1::jsonb))`,
)

const TRIGGERS = statement<{ table: string; kind: string; deferred: boolean; enabled: string }>(
  'test.triggers',
  `select c.relname as "table", convert_from(substring(t.tgargs for octet_length(t.tgargs) - 1), 'UTF8') as kind,
     t.tginitdeferred as deferred, t.tgenabled::text as enabled
   from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
   where p.proname = 'check_transition'`,
)
