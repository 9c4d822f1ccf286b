import { waitingBecause, type WaitingReason } from '../../jobs/gates/index.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { OperatedJob, operatedLoader } from './job.ts'

type Kind = WaitingReason['kind']

const JobWaitingKind = describedEnum<Kind>('JobWaitingKind', 'Why a job that waits does not run.', {
  HELD: 'An operator put it aside until it is released.',
  PAUSED: 'Its type is paused.',
  NO_WORKER: 'No worker that is alive knows its type and the version of its payload.',
  BREAKER_OPEN: 'The outside service that it needs does not answer.',
  NOT_YET_DUE: 'Its time has not come.',
  ISOLATION: 'It was running when a worker died: it waits to run alone.',
  TYPE_CAP: 'As many of its type run as may run at once.',
  TENANT_CAP: 'As many of its type run for its tenant as may run at once.',
  RATE: 'Its tenant has begun as many of its type as it may in so short a time.',
  AHEAD: 'Others of its type and tenant come first. Other tenants are served in turn and not counted.',
})

/** Every detail that some kind of reason has. */
interface Details {
  readonly kind: Kind
  readonly at: Date
  readonly nextAt: Date
  readonly until: Date | null
  readonly since: Date
  readonly reason: string | null
  readonly dependency: string
  readonly payloadVersion: number
  readonly running: number
  readonly cap: number
  readonly jobs: number
  readonly atLeast: boolean
}

/** A detail of the reason; null when its kind has no such detail. */
const detail = <Name extends keyof Details>(reason: Partial<Details>, name: Name): Details[Name] | null =>
  reason[name] ?? null

const JobWaitingReason = builder.objectRef<WaitingReason>('JobWaitingReason').implement({
  description: 'One reason why a job that waits does not run. Which details there are depends on `kind`.',
  fields: (t) => ({
    kind: t.expose('kind', { type: JobWaitingKind, description: 'What it waits for.' }),
    endsAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When that is expected to be over: of NOT_YET_DUE, RATE and, where it is known, BREAKER_OPEN.',
      resolve: (reason) => detail(reason, 'at') ?? detail(reason, 'nextAt') ?? detail(reason, 'until'),
    }),
    pausedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when its type is paused.',
      resolve: (reason) => detail(reason, 'since'),
    }),
    pausedReason: t.string({
      nullable: true,
      description: 'Why its type is paused, in the operator’s words.',
      resolve: (reason) => detail(reason, 'reason'),
    }),
    dependency: t.string({
      nullable: true,
      description: 'The outside service of BREAKER_OPEN.',
      resolve: (reason) => detail(reason, 'dependency'),
    }),
    payloadVersion: t.int({
      nullable: true,
      description: 'The version that a worker would have to know, of NO_WORKER.',
      resolve: (reason) => detail(reason, 'payloadVersion'),
    }),
    runningCount: t.int({
      nullable: true,
      description: 'How many run, of TYPE_CAP and TENANT_CAP.',
      resolve: (reason) => detail(reason, 'running'),
    }),
    cap: t.int({
      nullable: true,
      description: 'How many may run, of TYPE_CAP and TENANT_CAP.',
      resolve: (reason) => detail(reason, 'cap'),
    }),
    aheadCount: t.int({
      nullable: true,
      description: 'How many come first, of AHEAD; 0: it is the next.',
      resolve: (reason) => detail(reason, 'jobs'),
    }),
    isAtLeast: t.boolean({
      description: 'There may be more than `aheadCount`: counting stopped there.',
      resolve: (reason) => detail(reason, 'atLeast') ?? false,
    }),
  }),
})

const reasonsLoader = operatedLoader(({ database }, ids) => waitingBecause(database, ids))

builder.objectField(OperatedJob, 'waitingBecause', (t) =>
  t.field({
    type: [JobWaitingReason],
    description:
      'Why it does not run, the weightiest reason first; at least one while it waits, none while it runs and when it ' +
      'is over.',
    complexity: { field: 1, multiplier: 1 },
    resolve: async ({ jobId, status }, _args, context) =>
      WAITS.has(status) ? ((await reasonsLoader(context).load(jobId)) ?? []) : [],
  }),
)

const WAITS: ReadonlySet<string> = new Set(['SCHEDULED', 'RETRY_SCHEDULED'])
