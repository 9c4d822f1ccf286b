import { fromTenantColumn } from '../../jobs/index.ts'
import { listActs, type ActRow } from '../../jobs/operating/index.ts'
import { builder } from '../builder.ts'
import { connectionOf, connectionType, pageArgs, pageCost } from '../connection.ts'
import { decodeId, encodeId, idArg } from '../id.ts'
import { forOperators } from '../manners.ts'
import { present, textOf } from './job-filter.ts'
import { byUuid, uuidPage } from './job-queries.ts'
import { tenantOf, TENANT_UUID } from './job.ts'

const OperatorAct = builder.objectRef<ActRow>('OperatorAct').implement({
  description:
    'One thing that an operator did to jobs, or was refused to do: who, when, why, to what, and what changed. Kept for ever.',
  fields: (t) => ({
    uuid: t.expose('actId', { type: 'UUID', description: 'The entry of the audit.' }),
    actedAt: t.expose('at', { type: 'DateTime', description: 'When, by the database’s clock.' }),
    actor: t.exposeString('actor', { description: 'Subject of the operator.' }),
    act: t.exposeString('act', {
      description:
        'What was done: a JobAct; `BULK_…` and `BULK_…_DONE` for the beginning and the end of one over many jobs; ' +
        '`PAUSE_TYPE`, `RESUME_TYPE`, `PAUSE_SCHEDULE`, `RESUME_SCHEDULE`, `RUN_SCHEDULE`, `CANCEL_BATCH`.',
    }),
    reason: t.exposeString('reason', { description: 'Why, in the operator’s words.' }),
    correlationId: t.exposeString('correlationId', { description: 'Of the operator’s request.' }),
    jobUuid: t.expose('jobId', { type: 'UUID', nullable: true, description: 'The job that it was done to.' }),
    jobId: t.id({
      nullable: true,
      description: 'Id of that job.',
      resolve: ({ jobId }) => (jobId === null ? null : encodeId('OperatedJob', jobId)),
    }),
    jobType: t.exposeString('type', {
      nullable: true,
      description: 'The job type that it was done to, or of the job.',
    }),
    schedule: t.exposeString('schedule', { nullable: true, description: 'The schedule that it was done to.' }),
    batchId: t.id({
      nullable: true,
      description: 'Id of the batch that it was done to.',
      resolve: ({ batchId }) => (batchId === null ? null : encodeId('JobBatch', batchId)),
    }),
    tenantUuid: t.field({
      type: 'UUID',
      nullable: true,
      description: 'The tenant that it was about; null for the installation’s own and for what is about no tenant.',
      resolve: ({ tenantId }) => (tenantId === null ? null : fromTenantColumn(tenantId)),
    }),
    partOfUuid: t.expose('partOf', {
      type: 'UUID',
      nullable: true,
      description: 'The bulk act that this one was part of.',
    }),
    selection: t.expose('selection', {
      type: 'JSONObject',
      nullable: true,
      description: 'Of a bulk act: the filter and the jobs that it selected.',
    }),
    before: t.expose('before', {
      type: 'JSONObject',
      nullable: true,
      description: 'What it was done to, as it was.',
    }),
    refusalCode: t.exposeString('refusal', {
      nullable: true,
      description: 'Why it was refused, as a stable code; nothing changed then. Null: it was done.',
    }),
    after: t.expose('after', { type: 'JSONObject', nullable: true, description: 'The same, as it was afterwards.' }),
  }),
})

const OperatorActConnection = connectionType(OperatorAct, 'acts of operators, the newest first')

const OperatorActsFilter = builder.inputType('OperatorActsFilter', {
  description: 'Which acts. Everything that is given must hold; what is left out does not narrow.',
  fields: (t) => ({
    jobId: t.id(idArg('OperatedJob', 'Only acts on this job.')),
    jobType: t.string({ description: 'Only acts on this job type, or on jobs of it.' }),
    schedule: t.string({ description: 'Only acts on this schedule.' }),
    batchId: t.id(idArg('JobBatch', 'Only acts on this batch.')),
    tenantUuid: t.field({ type: 'UUID', description: `Only acts about this tenant. ${TENANT_UUID}` }),
    actor: t.string({ description: 'Only what this operator did.' }),
    act: t.string({ description: 'Only acts of this name.' }),
    partOfUuid: t.field({ type: 'UUID', description: 'Only the single jobs of this bulk act.' }),
    isTopLevel: t.boolean({ description: 'True leaves out the single jobs of bulk acts.' }),
    isRefused: t.boolean({ description: 'Only what was refused, or only what was done.' }),
    since: t.field({ type: 'DateTime', description: 'Only acts at this moment or later.' }),
    until: t.field({ type: 'DateTime', description: 'Only acts before this moment.' }),
  }),
})

builder.queryField('operatorActs', (t) =>
  t.field({
    type: OperatorActConnection,
    ...forOperators('jobs.read'),
    description: 'What operators did to jobs, types, schedules and batches, the newest first. For operators.',
    args: { filter: t.arg({ type: OperatorActsFilter, description: 'Which of them.' }), ...pageArgs(t) },
    complexity: pageCost,
    resolve: (_root, { filter: input, ...args }, { database }) => {
      const {
        jobId,
        jobType,
        schedule,
        batchId,
        tenantUuid,
        actor,
        act,
        partOfUuid,
        isTopLevel,
        isRefused,
        since,
        until,
      } = input ?? {}
      const text = (name: string, value: string | null | undefined) =>
        value == null ? undefined : textOf(value, ['filter', name])
      const filter = present({
        jobId: jobId == null ? null : decodeId('OperatedJob', jobId, ['filter', 'jobId']),
        batchId: batchId == null ? null : decodeId('JobBatch', batchId, ['filter', 'batchId']),
        type: text('jobType', jobType),
        schedule: text('schedule', schedule),
        actor: text('actor', actor),
        act: text('act', act),
        partOf: partOfUuid,
        topLevelOnly: isTopLevel,
        refused: isRefused,
        since,
        until,
      })
      const ofTenant = tenantUuid == null ? {} : { tenantId: tenantOf(tenantUuid) }
      return connectionOf(args, {
        ...byUuid(({ actId }: ActRow) => actId),
        read: (page) => listActs(database, { ...filter, ...ofTenant }, uuidPage(page)),
      })
    },
  }),
)
