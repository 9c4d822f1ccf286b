import {
  countJobs,
  jobsById,
  listJobs,
  redactedPayload,
  type JobCount as Count,
  type JobFilter,
  type JobRow,
} from '../../jobs/operating/index.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageArgs, pageCost } from '../connection.ts'
import type { ApiContext } from '../context.ts'
import { apiError } from '../errors/index.ts'
import { decodeId, idArg } from '../id.ts'
import { keyIs } from '../keyset-cursor.ts'
import { forOperators } from '../manners.ts'
import { JobStatus } from '../job-enums.ts'
import { jobFilterOf, OperatedJobsFilter, typesOf } from './job-filter.ts'
import { OperatedJob, OperatedJobConnection, TENANT_UUID, tenantOf } from './job.ts'

export const JobCount = builder.objectRef<Count>('JobCount').implement({
  description: 'How many jobs of one type are in one status.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The job type.' }),
    status: t.expose('status', { type: JobStatus, description: 'The status.' }),
    jobCount: t.field({
      type: 'BigInt',
      description: 'How many; of what is over, how many can still be found.',
      resolve: ({ jobs }) => BigInt(jobs),
    }),
  }),
})

const JobCountsFilter = builder.inputType('JobCountsFilter', {
  description: 'Which jobs to count. What is left out does not narrow.',
  fields: (t) => ({
    types: t.stringList({ description: 'Only jobs of these types, at most 100.' }),
    tenantUuid: t.field({ type: 'UUID', description: `Only jobs of this tenant. ${TENANT_UUID}` }),
  }),
})

/** Pages of a list whose keys are UUIDs. */
export const byUuid = <Row>(idOf: (row: Row) => string) => ({
  isKey: keyIs({ id: 'uuid' }),
  keyOf: (row: Row) => ({ id: idOf(row) }),
})

/** The page that the engine is asked for. */
export const uuidPage = ({ limit, after, before }: UuidPage) => ({
  limit,
  ...(after === undefined ? {} : { after: after.id }),
  ...(before === undefined ? {} : { before: before.id }),
})

interface UuidPage {
  readonly limit: number
  readonly after?: { readonly id: string }
  readonly before?: { readonly id: string }
}

const COUNTED: ReadonlySet<string> = new Set(['types', 'statuses', 'tenantId'])

/** By type, status and tenant counts are kept; anything else would have to be read row by row. */
async function totalOf({ database }: ApiContext, filter: JobFilter): Promise<number | null> {
  if (!Object.keys(filter).every((name) => COUNTED.has(name))) return null
  const { statuses, ...which } = filter
  const counts = await countJobs(database, which)
  return counts.filter(({ status }) => statuses?.includes(status) ?? true).reduce((total, { jobs }) => total + jobs, 0)
}

builder.queryFields((t) => ({
  jobs: t.field({
    type: OperatedJobConnection,
    ...forOperators('jobs.read'),
    description:
      'The jobs of all tenants, the newest first. For operators. `totalCount` is known when the filter names nothing ' +
      'but types, statuses and a tenant.',
    args: { filter: t.arg({ type: OperatedJobsFilter, description: 'Which of them.' }), ...pageArgs(t) },
    complexity: pageCost,
    resolve: (_root, { filter: input, ...args }, context) => {
      const filter = jobFilterOf(input, ['filter'])
      return connectionOf(args, {
        ...byUuid(({ jobId }: JobRow) => jobId),
        read: (page) => listJobs(context.database, filter, uuidPage(page)),
        count: () => totalOf(context, filter),
      })
    },
  }),
  job: t.field({
    type: OperatedJob,
    ...forOperators('jobs.read'),
    nullable: true,
    description: 'One job, by id or by UUID (give one of the two); null when it cannot be found. For operators.',
    args: {
      id: t.arg.id(idArg('OperatedJob', 'Id of the job.')),
      uuid: t.arg({ type: 'UUID', description: 'UUID of the job, as logs and events name it.' }),
    },
    resolve: async (_root, { id, uuid }, { database }) => {
      if ((id == null) === (uuid == null))
        throw apiError('BAD_USER_INPUT', 'Give "id" or "uuid", one of the two.', { inputPath: ['id'] })
      const jobId = id == null ? uuid! : decodeId('OperatedJob', id, ['id'])
      return (await jobsById(database, [jobId])).get(jobId) ?? null
    },
  }),
  jobPayload: t.field({
    type: 'JSON',
    ...forOperators('jobs.read'),
    nullable: true,
    description:
      'What a job was enqueued with, redacted: of a text only its length. Null when the job cannot be found. For ' +
      'operators.',
    args: { id: t.arg.id({ ...idArg('OperatedJob', 'Id of the job.'), required: true }) },
    resolve: (_root, { id }, { database }) => redactedPayload(database, decodeId('OperatedJob', id, ['id'])),
  }),
  jobCounts: t.field({
    type: [JobCount],
    ...forOperators('jobs.read'),
    description:
      'How many jobs there are by type and status, of one moment, exactly and however many; what has none is left ' +
      'out. For operators.',
    args: { filter: t.arg({ type: JobCountsFilter, description: 'Which jobs.' }) },
    resolve: (_root, { filter }, { database }) =>
      countJobs(database, {
        ...(filter?.types == null ? {} : { types: typesOf(filter.types, ['filter', 'types']) }),
        ...(filter?.tenantUuid == null ? {} : { tenantId: tenantOf(filter.tenantUuid) }),
      }),
  }),
}))
