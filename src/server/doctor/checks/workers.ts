import { statement } from '../../../database/index.ts'
import { typesWithoutWorker } from '../../../jobs/index.ts'
import { bad, good, warning, type Check } from '../check.ts'

/** Whether anybody works, and whether somebody can run every type that waits. */
export const workers: Check = {
  name: 'workers',
  async look(database) {
    const [row] = await database.run(WORKERS, [])
    const { alive, dead, processes, waiting } = row!
    const start = 'Start a process with threads: npm start -- --role worker'
    if (alive === 0)
      return [waiting > 0 ? bad('No worker is alive, and jobs wait.', start) : warning('No worker is alive.', start)]
    const findings = [good(`${alive} worker threads are alive, in ${processes} processes.`)]
    if (dead > 0)
      findings.push(
        warning(
          `${dead} workers ended without saying so and still hold jobs.`,
          'Their jobs are rescued within seconds of a living worker that knows the type; look again.',
        ),
      )
    return findings
  },
}

/** Types that wait and that no living worker has declared. */
export const unknownTypes: Check = {
  name: 'types',
  async look(database) {
    const rows = await typesWithoutWorker(database)
    if (rows.length === 0) return [good('Every type that waits is known to a living worker.')]
    return rows.map(({ type, waiting }) =>
      bad(
        `${waiting === 1000 ? '1,000 or more jobs wait' : `${waiting} job(s) wait`} whose type "${type}" no living worker knows.`,
        'Start a worker of the release that declares it. The jobs are kept until then.',
      ),
    )
  },
}

const WORKERS = statement<{ alive: number; dead: number; processes: number; waiting: number }>(
  'doctor.workers',
  `select count(*) filter (where lease_until > clock_timestamp())::int as alive,
     count(*) filter (where lease_until <= clock_timestamp()
       and exists (select from job where worker_id = w.id))::int as dead,
     count(distinct process) filter (where lease_until > clock_timestamp())::int as processes,
     (select count(*)::int from (select from job where worker_id is null limit 1) one) as waiting
   from job_worker w`,
)
