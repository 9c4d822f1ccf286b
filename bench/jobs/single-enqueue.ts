import { enqueue } from '../../src/jobs/index.ts'
import { noop } from './definitions.ts'
import { request } from './engine.ts'
import { figure, median, ratio } from './print.ts'
import type { BenchServer } from './server.ts'

const CLIENTS = 16
const EACH = 400

/** One job per transaction from sixteen clients, beside a plain insert of a row of the same size. In turn. */
export async function singleEnqueue(server: BenchServer, rounds: number): Promise<void> {
  await server.withRegie(async (database) => {
    await database.pool.query('create table plain (like job including defaults including indexes)')
    await enqueue(database, noop, request(0))
    const own: number[] = []
    const plain: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const insert = await rate((n) =>
        database.pool.query({
          name: 'plain',
          text: `insert into plain (id, tenant_id, type, policy_id, due, correlation_id, triggered_by, display_name, payload)
            values (gen_random_uuid(), $1, 'bench.noop', 1, now(), $2, 'bench', $3, $4)`,
          values: [request(n).tenantId, `bench-${n}`, `noop ${n}`, JSON.stringify({ n })],
        }),
      )
      const enqueued = await rate((n) => enqueue(database, noop, request(n)))
      await database.pool.query('truncate plain, job')
      // The first round opens the connections.
      if (round === 0) continue
      plain.push(insert)
      own.push(enqueued)
    }
    figure('enqueued_one_by_one_16_clients', median(own), 'per_second')
    ratio('enqueue_vs_plain_insert', median(own) / median(plain))
  })
}

async function rate(act: (n: number) => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = 0; n < EACH; n++) await act(client * EACH + n)
    }),
  )
  return (CLIENTS * EACH * 1000) / (performance.now() - started)
}
