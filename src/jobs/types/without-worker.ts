import { statement, type Queryable } from '../../database/index.ts'
import { UNKNOWN_TYPES, type UnknownTypeRow } from '../sql/worker.ts'

/** Types that wait and that no living worker of any process has declared; their jobs are kept until one does. */
export async function typesWithoutWorker(on: Queryable): Promise<UnknownTypeRow[]> {
  const known = await on.run(KNOWN_TO_WORKERS, [])
  return on.run(UNKNOWN_TYPES, [known.map(({ type }) => type)])
}

const KNOWN_TO_WORKERS = statement<{ readonly type: string }>(
  'jobs.types_of_workers',
  `select distinct jsonb_object_keys(types) as type from job_worker where lease_until > clock_timestamp()`,
)
