import type { GraphQLResolveInfo } from 'graphql'
import type { LogItem } from '../../events/index.ts'
import { fromTenantColumn, INSTALLATION, type JobEvent } from '../../jobs/index.ts'
import type { JobCount as Count } from '../../jobs/operating/index.ts'
import { mustBeAllowed } from '../../viewer/index.ts'
import { builder } from '../builder.ts'
import type { ApiContext } from '../context.ts'
import { forOperators } from '../manners.ts'
import { AFTER, DomainEvent, StreamCaughtUp, streamType, typeOfItem, type EventItem, type Snapshot } from '../stream.ts'
import { mustBeAffordable } from '../subscription-cost.ts'
import { encodeId } from '../id.ts'
import { JobStatus } from '../job-enums.ts'
import { typesOf } from './job-filter.ts'
import { JobCount } from './job-queries.ts'
import { JobFailure, jobLoader, OperatedJob, TENANT_UUID } from './job.ts'

type JobItem = Extract<LogItem<JobEvent>, { kind: 'event' }>

const JobChanged = streamType<JobItem>('JobChanged', {
  description: 'An attempt of a job ended, or somebody acted on a job that did not run.',
  fields: (t) => ({
    jobId: t.id({ description: 'Id of the job.', resolve: ({ event }) => encodeId('OperatedJob', event.jobId) }),
    jobUuid: t.field({ type: 'UUID', description: 'UUID of the job.', resolve: ({ event }) => event.jobId }),
    jobType: t.string({ description: 'Its job type.', resolve: ({ event }) => event.type }),
    tenantUuid: t.field({
      type: 'UUID',
      nullable: true,
      description: 'The tenant it works for; null for a job of the installation itself.',
      resolve: ({ event }) => fromTenantColumn(event.tenantId),
    }),
    attempt: t.int({
      description: 'Which attempt, from 1; 0 before the first.',
      resolve: ({ event }) => event.attempt,
    }),
    previousStatus: t.field({
      type: JobStatus,
      description: 'The status it had.',
      resolve: ({ event }) => event.from,
    }),
    status: t.field({ type: JobStatus, description: 'The status it has since.', resolve: ({ event }) => event.to }),
    failure: t.field({
      type: JobFailure,
      nullable: true,
      complexity: 0,
      description: 'Why the attempt failed; null when it did not.',
      resolve: ({ event: { failureClass, code, message } }) =>
        failureClass === null ? null : { class: failureClass, code: code ?? '', message: message ?? '' },
    }),
    reason: t.string({
      nullable: true,
      description: 'Why it was stopped, given back or acted on.',
      resolve: ({ event }) => event.reason,
    }),
    actor: t.string({
      description: 'The operator whose act it was, or `system`.',
      resolve: ({ event }) => event.actor,
    }),
    startedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the attempt began; null for an act on a job that did not run.',
      resolve: ({ event }) => event.startedAt,
    }),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it is due again; null when it is over.',
      resolve: ({ event }) => event.nextAttemptAt,
    }),
    correlationId: t.string({
      description: 'Of the request that it goes back to.',
      resolve: ({ event }) => event.correlationId,
    }),
    recordedAt: t.field({
      type: 'DateTime',
      description: 'When it was recorded, by the database’s clock.',
      resolve: ({ event }) => event.recordedAt,
    }),
    job: t.field({
      type: OperatedJob,
      nullable: true,
      description: 'The job as it is when the event is delivered, which may be later; null when it cannot be found.',
      resolve: ({ event }, _args, context) => jobLoader(context).load(event.jobId),
    }),
  }),
})

const JobTypeChanged = streamType<EventItem>('JobTypeChanged', {
  description:
    'Something that operators care about happened to a job type: it keeps failing or works again, it was paused or ' +
    'resumed, a circuit breaker of it opened or closed.',
  interfaces: [DomainEvent],
  fields: (t) => ({
    jobType: t.string({ description: 'The job type.', resolve: ({ event }) => event.data['type'] as string }),
  }),
})

const JobStreamItem = builder.unionType('JobStreamItem', {
  description: 'What `jobEvents` tells. Every member is a StreamItem.',
  types: [JobChanged, StreamCaughtUp],
  resolveType: (item) => (item.kind === 'caughtUp' ? StreamCaughtUp.name : JobChanged.name),
})

const OperatorStreamItem = builder.unionType('OperatorStreamItem', {
  description: 'What `operatorEvents` tells. Every member is a StreamItem.',
  types: [JobTypeChanged, StreamCaughtUp],
  resolveType: typeOfItem({ job_type: JobTypeChanged }),
})

const JobCountsChanged = builder.objectRef<readonly Count[]>('JobCountsChanged').implement({
  description: 'How many jobs there are, whenever that has changed.',
  fields: (t) => ({
    counts: t.field({
      type: [JobCount],
      description: 'By type and status, exactly, of one moment; what has none is left out.',
      resolve: (counts) => counts,
    }),
  }),
})

const JobEventsFilter = builder.inputType('JobEventsFilter', {
  description: 'Which events. Everything that is given must hold; what is left out does not narrow.',
  fields: (t) => ({
    types: t.stringList({ description: 'Only jobs of these types, at most 100.' }),
    statuses: t.field({ type: [JobStatus], description: 'Only what brought a job into one of these statuses.' }),
    tenantUuid: t.field({ type: 'UUID', description: `Only jobs of this tenant. ${TENANT_UUID}` }),
  }),
})

/** What every stream for operators begins with; the operation is looked at whole before anything is opened. */
function openForOperator(context: ApiContext, info: GraphQLResolveInfo): void {
  mustBeAffordable(context, info)
  mustBeAllowed(context.operatorCall().operator, 'jobs.read')
}

builder.subscriptionFields((t) => ({
  jobEvents: t.field({
    type: JobStreamItem,
    ...forOperators('jobs.read'),
    description:
      'Follows the attempts of jobs of all tenants as they end. Goes on `after` a cursor of its own items, or of an ' +
      '`eventCursor`; without one it begins from now on. With a filter it costs the server what it shows. For operators.',
    args: {
      filter: t.arg({ type: JobEventsFilter, description: 'Which of them.' }),
      after: t.arg(AFTER),
    },
    subscribe: (_root, { filter, after }, context, info) => {
      openForOperator(context, info)
      const { types, statuses, tenantUuid } = filter ?? {}
      return context.jobs.events.follow({
        filters: [
          types == null ? undefined : typesOf(types, ['filter', 'types']),
          statuses ?? undefined,
          tenantUuid == null ? undefined : [tenantUuid],
        ],
        after,
        momentsOf: [INSTALLATION, ...(context.viewer === null ? [] : [context.viewer.tenantId])],
        signal: context.signal,
      })
    },
    resolve: (item) => item as never,
  }),
  operatorEvents: t.field({
    type: OperatorStreamItem,
    ...forOperators('jobs.read'),
    description:
      'Follows what operators should know of: job types that fail, are paused, or wait for a service. For operators.',
    args: { after: t.arg(AFTER) },
    subscribe: (_root, { after }, context, info) => {
      openForOperator(context, info)
      return context.feed.subscribe<Snapshot>({
        tenantId: INSTALLATION,
        filter: { kinds: ['job_type'] },
        after: after ?? null,
        signal: context.signal,
      })
    },
    resolve: (item) => item as never,
  }),
  jobCountsChanged: t.field({
    type: JobCountsChanged,
    ...forOperators('jobs.read'),
    description:
      'The numbers of jobs: first as they are, then whenever they have changed, at most once a second. A slow reader ' +
      'gets the newest and never a backlog, so there is no cursor. For operators.',
    subscribe: (_root, _args, context, info) => {
      openForOperator(context, info)
      return context.jobs.counts.follow(context.signal)
    },
    resolve: (counts) => counts,
  }),
}))
