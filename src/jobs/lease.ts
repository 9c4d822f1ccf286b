import { hostname } from 'node:os'
import type { Queryable } from '../database/index.ts'
import { KEEP_WORKERS, REMOVE_WORKER } from './sql/worker.ts'

/** One engine's start: a new id every time, never a host name (pain 21). */
export interface Worker {
  readonly id: string
  readonly slot: number
}

/** How long a lease outlives its last renewal. A dead worker's jobs are rescued within twice this. */
export const LEASE_MS = 15_000

/** Registers workers, or renews the leases of those that are registered, in one statement. */
export async function keepWorkers(on: Queryable, workers: readonly Worker[], leaseMs: number): Promise<void> {
  const rows = workers.map(({ id, slot }) => ({ id, slot, process: `${hostname()}:${process.pid}` }))
  await on.run(KEEP_WORKERS, [JSON.stringify(rows), leaseMs])
}

/** For a worker that is certainly gone: what it still holds is rescued now, not when its lease lapses. */
export async function removeWorker(on: Queryable, id: string): Promise<void> {
  await on.run(REMOVE_WORKER, [id])
}
