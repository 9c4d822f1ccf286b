import { jobAlerts, type JobAlerts as Alerts } from '../../jobs/operating/index.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { forOperators } from '../manners.ts'

export const JobBreakerState = describedEnum('JobBreakerState', 'Whether an outside service is asked at present.', {
  CLOSED: 'It is asked.',
  OPEN: 'It failed too often in a row: jobs wait, without an attempt spent.',
  HALF_OPEN: 'One job tries whether it is back.',
})

const FailingJobs = builder.objectRef<Alerts['failingTypes'][number]>('FailingJobs').implement({
  description: 'A job type that keeps failing, or whose jobs are long overdue.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The job type.' }),
    failingSinceAt: t.expose('since', { type: 'DateTime', description: 'Since when.' }),
  }),
})

const PausedJobs = builder.objectRef<Alerts['pausedTypes'][number]>('PausedJobs').implement({
  description: 'A job type of which nothing is begun at present.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The job type.' }),
    pausedAt: t.expose('since', { type: 'DateTime', description: 'Since when.' }),
    pausedBy: t.exposeString('by', { description: 'The operator who paused it.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why.' }),
  }),
})

const OverdueJobs = builder.objectRef<Alerts['oldestDue'][number]>('OverdueJobs').implement({
  description: 'A job type with jobs that are due and wait.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The job type.' }),
    oldestWaitMs: t.field({
      type: 'BigInt',
      description: 'How long the oldest of them has been due, in milliseconds.',
      resolve: ({ waitingMs }) => BigInt(Math.round(waitingMs)),
    }),
  }),
})

const QuarantinedJobs = builder.objectRef<Alerts['quarantined'][number]>('QuarantinedJobs').implement({
  description: 'A job type with jobs that were given up because they killed their workers.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The job type.' }),
    jobCount: t.exposeInt('jobs', { description: 'How many that nobody has retried or handled.' }),
  }),
})

const OpenJobBreaker = builder.objectRef<Alerts['openBreakers'][number]>('OpenJobBreaker').implement({
  description: 'A circuit breaker that is not closed.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'The job type.' }),
    dependency: t.exposeString('dependency', { description: 'The outside service.' }),
    state: t.expose('state', { type: JobBreakerState, description: 'Whether it is being probed.' }),
    openedAt: t.expose('since', { type: 'DateTime', description: 'Since when.' }),
    nextProbeAt: t.expose('openUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next job tries whether the service is back.',
    }),
  }),
})

const JobAlerts = builder.objectRef<Alerts>('JobAlerts').implement({
  description: 'What deserves an operator’s attention now.',
  fields: (t) => ({
    failing: t.expose('failingTypes', { type: [FailingJobs], description: 'Types that keep failing.' }),
    paused: t.expose('pausedTypes', { type: [PausedJobs], description: 'Types that are paused.' }),
    overdue: t.expose('oldestDue', {
      type: [OverdueJobs],
      description: 'How long the oldest job that is due has waited, per type; types with none are left out.',
    }),
    quarantined: t.expose('quarantined', {
      type: [QuarantinedJobs],
      description: 'Jobs that killed their workers, per type; types with none are left out.',
    }),
    openBreakers: t.expose('openBreakers', {
      type: [OpenJobBreaker],
      description: 'Circuit breakers that are open or being probed.',
    }),
  }),
})

builder.queryField('jobAlerts', (t) =>
  t.field({
    type: JobAlerts,
    ...forOperators('jobs.read'),
    description: 'What deserves attention now; the metrics tell the same. For operators.',
    resolve: (_root, _args, { database }) => jobAlerts(database),
  }),
)
