import { row, rows } from './definitions.ts'
import { fill, tenant, workOff } from './engine.ts'
import { figure, median } from './print.ts'
import type { BenchServer } from './server.ts'

const TENANTS = 20

/** Jobs whose handlers write one row of a domain each, through Prisma: a batch in one transaction, and one by one. */
export async function domainRows(server: BenchServer, jobs: number, rounds: number): Promise<void> {
  const together: number[] = []
  const single: number[] = []
  const few = Math.ceil(jobs / 10)
  for (let round = 0; round < rounds; round++)
    await server.withRegie(async (database, url) => {
      await database.pool.query(`insert into tenant (id, name) select id, id from unnest($1::uuid[]) as made(id)`, [
        Array.from({ length: TENANTS }, (_, n) => tenant(n)),
      ])
      await fill(database, rows, jobs, TENANTS)
      together.push(await workOff(database, url, rows.type, true))
      await fill(database, row, few, TENANTS)
      single.push(await workOff(database, url, row.type, true))
      const { rowCount } = await database.pool.query('select from membership')
      if (rowCount !== jobs + few) throw new Error(`${rowCount} rows were written and not ${jobs + few}.`)
    })
  figure('jobs_with_a_row_in_batches', median(together), 'per_second')
  figure('jobs_with_a_row_one_by_one', median(single), 'per_second')
}
