import type { Queryable } from '../../database/index.ts'
import { bad, type Check, type Finding } from './check.ts'
import { autovacuum } from './checks/autovacuum.ts'
import { backlog } from './checks/backlog.ts'
import { bloat } from './checks/bloat.ts'
import { clockSkew } from './checks/clock-skew.ts'
import { oldTransactions } from './checks/old-transactions.ts'
import { partitions } from './checks/partitions.ts'
import { schedules } from './checks/schedules.ts'
import { unknownTypes, workers } from './checks/workers.ts'

export const CHECKS: readonly Check[] = [
  clockSkew,
  oldTransactions,
  bloat,
  autovacuum,
  partitions,
  workers,
  unknownTypes,
  schedules,
  backlog,
]

export interface Examination {
  readonly check: string
  readonly finding: Finding
}

/** Asks every question, one after the other; one that cannot be answered is a bad finding and keeps no other. */
export async function examine(database: Queryable, checks: readonly Check[] = CHECKS): Promise<Examination[]> {
  const all: Examination[] = []
  for (const { name, look } of checks) {
    for (const finding of await look(database).catch(unanswered)) all.push({ check: name, finding })
  }
  return all
}

function unanswered(error: unknown): Finding[] {
  const why = error instanceof Error ? error.message : String(error)
  return [
    bad(`This could not be found out: ${why}`, 'Check the rights of the database user, and that nothing restarts.'),
  ]
}

/** For scripts: 0 nothing bad, 1 something is, warnings included when `strict`. */
export const exitCodeOf = (examinations: readonly Examination[], strict: boolean): 0 | 1 =>
  examinations.some(({ finding: { state } }) => state === 'bad' || (strict && state === 'warning')) ? 1 : 0
