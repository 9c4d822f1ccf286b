import {
  nextFirings,
  overdueMs,
  readSchedules,
  type Firing,
  type ScheduleRow,
  type ScheduleRun,
} from '../../jobs/periodic/index.ts'
import { builder } from '../builder.ts'
import { apiError } from '../errors/index.ts'
import { encodeId } from '../id.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { forOperators } from '../manners.ts'
import { operatedLoader } from './job.ts'

const JobMissedPolicy = describedEnum<ScheduleRow['missed']>(
  'JobMissedPolicy',
  'What becomes of firings that nobody was there for.',
  {
    SKIP: 'None is made up for.',
    RUN_LAST: 'The newest is made up for.',
    RUN_ALL: 'The newest `missedLimit` are made up for.',
  },
)

const JobOverlapPolicy = describedEnum<ScheduleRow['overlap']>(
  'JobOverlapPolicy',
  'What becomes of a firing while an earlier run is not over.',
  {
    SKIP: 'A running one keeps it from starting; one that waits gives way to it.',
    ALLOW: 'Both run.',
    CANCEL_OTHER: 'The earlier one is cancelled.',
  },
)

const JobDstGap = describedEnum<ScheduleRow['dstGap']>(
  'JobDstGap',
  'What becomes of a local time that a change of clocks skips.',
  { RUN_AFTER: 'It fires once, right after the change.', SKIP: 'It does not fire.' },
)

const JobDstOverlap = describedEnum<ScheduleRow['dstOverlap']>(
  'JobDstOverlap',
  'What becomes of a local time that a change of clocks brings twice.',
  { ONCE: 'It fires the first time.', TWICE: 'It fires both times.' },
)

const JobFiringDst = describedEnum<NonNullable<Firing['dst']>>(
  'JobFiringDst',
  'What a change of clocks has to do with a firing.',
  {
    AFTER_GAP: 'Its own local time is skipped; it comes right after.',
    GAP_SKIPPED: 'The one before it is left out, since its local time is skipped.',
    FIRST_OF_TWO: 'Its local time comes twice; this is the first.',
    SECOND_OF_TWO: 'Its local time comes twice; this is the second.',
  },
)

const JobSlotOutcome = describedEnum<ScheduleRun['outcome']>('JobSlotOutcome', 'What became of a firing.', {
  FIRED: 'It was carried out.',
  OVERLAP: 'An earlier run was not over.',
  MISSED: 'Nobody was there, and the policy does not make up for it.',
})

const JobFiring = builder.objectRef<Firing>('JobFiring').implement({
  description: 'A time at which a schedule will fire.',
  fields: (t) => ({
    firesAt: t.expose('at', { type: 'DateTime', description: 'When.' }),
    localTime: t.exposeString('local', { description: 'The same in the schedule’s zone, with its offset.' }),
    dst: t.expose('dst', {
      type: JobFiringDst,
      nullable: true,
      description: 'What a change of clocks has to do with it; mostly null.',
    }),
    note: t.exposeString('note', { nullable: true, description: 'The same for people.' }),
  }),
})

const JobSlot = builder.objectRef<ScheduleRun>('JobSlot').implement({
  description: 'One firing of a schedule that is past. There is one row of each, whatever the number of processes.',
  fields: (t) => ({
    slotAt: t.expose('slot', { type: 'DateTime', description: 'The time that it was for.' }),
    firedAt: t.expose('firedAt', { type: 'DateTime', description: 'When somebody came to it.' }),
    outcome: t.expose('outcome', { type: JobSlotOutcome, description: 'What became of it.' }),
    jobId: t.id({
      nullable: true,
      description: 'Id of the job that it enqueued; null when it enqueued none.',
      resolve: ({ jobId }) => (jobId === null ? null : encodeId('OperatedJob', jobId)),
    }),
    runBy: t.exposeString('runBy', {
      nullable: true,
      description: 'The operator who ran it by hand; null when the clock did.',
    }),
  }),
})

const MOST_FIRINGS = 20

export const JobSchedule = builder.objectRef<ScheduleRow>('JobSchedule').implement({
  description: 'What recurs: when, what happens to firings that were missed or overlap, and how it went last.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, unique over the installation.' }),
    everyMs: t.exposeInt('everyMs', {
      nullable: true,
      description: 'It fires at the multiples of so many milliseconds since 1970; null when it has a `cron`.',
    }),
    cron: t.exposeString('cron', {
      nullable: true,
      description: 'Its cron expression, in the local time of `timeZone`; null when it has an interval.',
    }),
    timeZone: t.exposeString('timeZone', { description: 'IANA name of its time zone.' }),
    dstGap: t.expose('dstGap', { type: JobDstGap, description: 'When a change of clocks skips its local time.' }),
    dstOverlap: t.expose('dstOverlap', {
      type: JobDstOverlap,
      description: 'When a change of clocks brings its local time twice.',
    }),
    missed: t.expose('missed', { type: JobMissedPolicy, description: 'What becomes of firings that were missed.' }),
    missedLimit: t.exposeInt('missedLimit', { description: 'How many missed firings RUN_ALL makes up for.' }),
    overlap: t.expose('overlap', {
      type: JobOverlapPolicy,
      description: 'What becomes of a firing while an earlier run is not over.',
    }),
    jobType: t.exposeString('jobType', {
      nullable: true,
      description: 'Type of the job that a firing enqueues; null for what the engine does on the spot.',
    }),
    nextSlotAt: t.expose('nextSlot', {
      type: 'DateTime',
      nullable: true,
      description: 'The firing that comes next, unless it is paused; null when none does.',
    }),
    overdueMs: t.field({
      type: 'BigInt',
      description:
        'How late the next firing is, in milliseconds; 0 while it is in time, paused, or taken out by a release.',
      resolve: (schedule) => BigInt(overdueMs(schedule)),
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is paused; null when it is not.',
    }),
    pausedBy: t.exposeString('pausedBy', { nullable: true, description: 'The operator who paused it.' }),
    pausedReason: t.exposeString('pausedReason', { nullable: true, description: 'Why it was paused.' }),
    lastRun: t.expose('lastRun', {
      type: JobSlot,
      nullable: true,
      description: 'The last firing; null when there was none, or none that is remembered.',
    }),
    nextFirings: t.field({
      type: [JobFiring],
      description:
        'When it will fire next, paused or not, with what changes of clocks do to it. From the database’s now.',
      complexity: { field: 1, multiplier: 1 },
      args: { first: t.arg.int({ description: `How many: 1 to ${MOST_FIRINGS}. Default 5.`, defaultValue: 5 }) },
      resolve: (schedule, { first }) => {
        const count = first ?? 5
        if (count < 1 || count > MOST_FIRINGS)
          throw apiError('BAD_USER_INPUT', `"first" takes 1 to ${MOST_FIRINGS}.`, { inputPath: ['first'] })
        return nextFirings(schedule, schedule.asOf, count)
      },
    }),
  }),
})

/** Schedules by name. */
export const scheduleLoader = operatedLoader(async ({ database }) => {
  const rows = await readSchedules(database)
  return new Map(rows.map((row) => [row.name, row]))
})

builder.queryField('jobSchedules', (t) =>
  t.field({
    type: [JobSchedule],
    ...forOperators('jobs.read'),
    description: 'What recurs, by name. For operators.',
    resolve: (_root, _args, { database }) => readSchedules(database),
  }),
)
