import type { Lifecycle } from './lifecycle.ts'

/**
 * What the migration of a lifecycle's table holds: its rows of `transition_pair` and the trigger that checks
 * them. Paste it after `create table`; a later change of the lifecycle gets a migration of its own.
 */
export function lifecycleSql<Status extends string>(lifecycle: Lifecycle<Status>): string {
  return `${pairRowsSql(lifecycle)}\n${triggerSql(lifecycle)}`
}

/** The lifecycle's rows of `transition_pair`, replacing whatever is there for its kind. */
export function pairRowsSql<Status extends string>({ kind, pairs }: Lifecycle<Status>): string {
  const rows = pairs.map(({ from, to }) => `  ('${kind}', '${from ?? CREATION}', '${to}')`)
  return [
    `delete from transition_pair where kind = '${kind}';`,
    `insert into transition_pair (kind, from_status, to_status) values\n${rows.join(',\n')};`,
  ].join('\n')
}

/** How `transition_pair.from_status` says "created": a primary key cannot hold null. */
export const CREATION = ''

function triggerSql<Status extends string>({ kind, table }: Lifecycle<Status>): string {
  return [
    `create constraint trigger ${table}_transition after insert or update on ${table}`,
    `  deferrable initially deferred for each row execute function check_transition('${kind}');`,
  ].join('\n')
}
