/**
 * One SQL statement with a name. The name makes `pg` prepare it once per connection; it is left out when the
 * pooler in between cannot keep prepared statements (`DATABASE_POOLER=transaction`).
 */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Never set; carries the row's type. */
  readonly row?: Row
}

/** What may stand for a `$n`. Objects go in as JSON text with a cast in the SQL (`$1::jsonb`). */
export type SqlValue = string | number | bigint | boolean | Date | null | readonly (string | number | null)[]

/** Whatever runs a statement: the pool, a `pg` client, or a transaction. */
export interface Queryable {
  run<Row>(statement: Statement<Row>, values: readonly SqlValue[]): Promise<Row[]>
}

/** Declares a statement; names are unique over the process so that two texts never share a prepared name. */
export function statement<Row>(name: string, text: string): Statement<Row> {
  const known = texts.get(name)
  if (known !== undefined && known !== text) throw new Error(`Two SQL statements are called "${name}".`)
  texts.set(name, text)
  return { name, text }
}

const texts = new Map<string, string>()
