import type { JobStatus as Status } from '../../jobs/index.ts'
import {
  batchesById,
  cancelBatchByOperator,
  countsOfBatches,
  listBatches,
  type JobBatch as Batch,
} from '../../jobs/batches/index.ts'
import type { BulkResult } from '../../jobs/operating/index.ts'
import { builder } from '../builder.ts'
import { connectionOf, connectionType, pageArgs, pageCost } from '../connection.ts'
import { decodeId, encodeId, idArg } from '../id.ts'
import { forOperators } from '../manners.ts'
import { outcomes, successOf } from '../mutation.ts'
import { BULK_UUID, bulkFields } from './bulk.ts'
import { present } from './job-filter.ts'
import { REASON } from './job-mutations.ts'
import { byUuid, uuidPage } from './job-queries.ts'
import { JobStatus } from '../job-enums.ts'
import { OperatedJob, operatedLoader, TENANT_UUID, tenantOf } from './job.ts'
import { operated } from './operated.ts'

const batchLoader = operatedLoader(({ database }, ids) => batchesById(database, ids))
const countsLoader = operatedLoader(({ database }, ids) => countsOfBatches(database, ids))

const JobBatchCount = builder.objectRef<{ readonly status: Status; readonly jobs: number }>('JobBatchCount').implement({
  description: 'How many jobs of a batch are in one status.',
  fields: (t) => ({
    status: t.expose('status', { type: JobStatus, description: 'The status.' }),
    jobCount: t.exposeInt('jobs', { description: 'How many.' }),
  }),
})

const JobBatch = builder.objectRef<Batch>('JobBatch').implement({
  description: 'A group of jobs that people know by one name.',
  fields: (t) => ({
    id: t.id({ description: 'Opaque id.', resolve: ({ batchId }) => encodeId('JobBatch', batchId) }),
    uuid: t.expose('batchId', { type: 'UUID', description: 'The id that logs name it by.' }),
    tenantUuid: t.expose('tenantId', {
      type: 'UUID',
      nullable: true,
      description: 'The tenant it is for; null for the installation’s own.',
    }),
    label: t.exposeString('label', { description: 'What people call it.' }),
    correlationId: t.exposeString('correlationId', { description: 'Of the request that made it.' }),
    triggeredBy: t.exposeString('triggeredBy', { description: 'Subject of whoever made it, or `system`.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    cancelledAt: t.expose('cancelledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was cancelled: nothing joins it since, and nothing of it is tried again.',
    }),
    cancelledBy: t.exposeString('cancelledBy', { nullable: true, description: 'Who cancelled it.' }),
    cancelReason: t.exposeString('cancelReason', { nullable: true, description: 'Why it was cancelled.' }),
    counts: t.field({
      type: [JobBatchCount],
      description: 'How many of its jobs are in which status; what has none is left out.',
      complexity: { field: 1, multiplier: 1 },
      resolve: async ({ batchId }, _args, context) => {
        const counts = (await countsLoader(context).load(batchId)) ?? {}
        return Object.entries(counts).map(([status, jobs]) => ({ status: status as Status, jobs }))
      },
    }),
  }),
})

const JobBatchConnection = connectionType(JobBatch, 'batches of jobs, the newest first')

builder.objectField(OperatedJob, 'batch', (t) =>
  t.field({
    type: JobBatch,
    nullable: true,
    description: 'The batch that it belongs to.',
    resolve: ({ batchId }, _args, context) => (batchId === null ? null : batchLoader(context).load(batchId)),
  }),
)

const JobBatchesFilter = builder.inputType('JobBatchesFilter', {
  description: 'Which batches. What is left out does not narrow.',
  fields: (t) => ({
    tenantUuid: t.field({ type: 'UUID', description: `Only batches of this tenant. ${TENANT_UUID}` }),
    isCancelled: t.boolean({ description: 'Only cancelled ones, or only those that are not.' }),
  }),
})

builder.queryFields((t) => ({
  jobBatches: t.field({
    type: JobBatchConnection,
    ...forOperators('jobs.read'),
    description: 'The batches of all tenants, the newest first. For operators.',
    args: { filter: t.arg({ type: JobBatchesFilter, description: 'Which of them.' }), ...pageArgs(t) },
    complexity: pageCost,
    resolve: (_root, { filter, ...args }, { database }) => {
      const which = {
        ...present({ cancelled: filter?.isCancelled }),
        ...(filter?.tenantUuid == null ? {} : { tenantId: tenantOf(filter.tenantUuid) }),
      }
      return connectionOf(args, {
        ...byUuid(({ batchId }: Batch) => batchId),
        read: (page) => listBatches(database, which, uuidPage(page)),
      })
    },
  }),
  jobBatch: t.field({
    type: JobBatch,
    ...forOperators('jobs.read'),
    nullable: true,
    description: 'One batch; null when it does not exist. For operators.',
    args: { id: t.arg.id({ ...idArg('JobBatch', 'Id of the batch.'), required: true }) },
    resolve: (_root, { id }, context) => batchLoader(context).load(decodeId('JobBatch', id, ['id'])),
  }),
}))

const CancelJobBatchInput = builder.inputType('CancelJobBatchInput', {
  description: 'Which batch, and why.',
  fields: (t) => ({
    batchId: t.id({ ...idArg('JobBatch', 'Id of the batch.'), required: true }),
    bulkUuid: t.field({ type: 'UUID', required: true, description: BULK_UUID }),
    reason: t.string({ required: true, description: REASON }),
  }),
})

const CancelJobBatchSuccess = successOf<BulkResult & { readonly batchId: string }>(
  'CancelJobBatchSuccess',
  'What waited of the batch is cancelled, what ran was asked to stop, and nothing joins it any more.',
  (t) => ({
    batch: t.field({
      type: JobBatch,
      nullable: true,
      description: 'The batch as it is now.',
      resolve: ({ result }, _args, context) => batchLoader(context).load(result.batchId),
    }),
    ...bulkFields(t as never),
  }),
)

builder.mutationField('cancelJobBatch', (t) =>
  t.field({
    type: CancelJobBatchSuccess,
    nullable: true,
    ...forOperators('jobs.operate'),
    description: 'Cancels every job of a batch. Audited as a whole and per job. For operators.',
    args: { input: t.arg({ type: CancelJobBatchInput, required: true, description: 'Which, and why.' }) },
    errors: outcomes('cancelJobBatch'),
    resolve: (_root, { input }, context) => {
      const batchId = decodeId('JobBatch', input.batchId, ['input', 'batchId'])
      return operated(context, input.reason, async (parts, by) => ({
        batchId,
        ...(await cancelBatchByOperator(parts, { batchId, bulkId: input.bulkUuid }, by)),
      }))
    },
  }),
)
