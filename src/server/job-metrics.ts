import { Gauge, type Registry } from 'prom-client'
import type { Queryable } from '../database/index.ts'
import { countJobs, jobAlerts, overdueMs, readSchedules } from '../jobs/index.ts'

/** The numbers about jobs that alerts are made of. */
export interface JobFigures {
  readonly failingTypes: readonly { readonly type: string }[]
  readonly pausedTypes: readonly unknown[]
  readonly oldestDue: readonly { readonly type: string; readonly waitingMs: number }[]
  readonly quarantined: readonly { readonly jobs: number }[]
  readonly openBreakers: readonly { readonly type: string }[]
  readonly counts: readonly { readonly status: string; readonly jobs: number }[]
  readonly schedules: readonly { readonly name: string; readonly overdueMs: number }[]
}

interface GatheringOptions {
  /** One reading of the database; it may fail. */
  readonly read: () => Promise<JobFigures>
  /** How long a reading is used, in milliseconds: however many scrapes, the database is asked once. */
  readonly freshMs: number
  readonly onFailure: (error: unknown) => void
}

type Series = Iterable<readonly [label: string | null, value: number]>

const FRESH_MS = 5_000

/** Three statements, none of which reads jobs one by one. */
export async function jobFigures(database: Queryable): Promise<JobFigures> {
  const [alerts, counts, schedules] = await Promise.all([
    jobAlerts(database),
    countJobs(database),
    readSchedules(database),
  ])
  return {
    ...alerts,
    counts,
    schedules: schedules.map((schedule) => ({ name: schedule.name, overdueMs: overdueMs(schedule) })),
  }
}

/**
 * Shows the state of the jobs of the whole installation: the same in every process that is asked, so alerts take the
 * largest. Labels are names that releases declare (types, schedules) or the engine's statuses, never what came with a
 * job. While the database cannot be read the series are absent, which is an alert of its own; old numbers would lie.
 */
export function showJobFigures(registry: Registry, { read, freshMs = FRESH_MS, onFailure }: Optional): void {
  let gathered: { readonly at: number; readonly figures: Promise<JobFigures | null> } | null = null
  const figures = (): Promise<JobFigures | null> => {
    const now = performance.now()
    if (gathered === null || now - gathered.at >= freshMs) {
      const reading = read().catch((error: unknown) => {
        onFailure(error)
        return null
      })
      gathered = { at: now, figures: reading }
    }
    return gathered.figures
  }
  for (const { name, help, label, series } of GAUGES) {
    new Gauge({
      name,
      help,
      labelNames: label === null ? [] : [label],
      registers: [registry],
      async collect() {
        const read = await figures()
        this.reset()
        if (read === null) {
          // Without labels a reset leaves a zero.
          if (label === null) this.remove()
          return
        }
        for (const [value, number] of series(read)) {
          if (label === null || value === null) this.set(number)
          else this.set({ [label]: value }, number)
        }
      },
    })
  }
}

type Optional = Omit<GatheringOptions, 'freshMs'> & { readonly freshMs?: number }

const STATUSES = ['SCHEDULED', 'PROCESSING', 'SUCCEEDED', 'RETRY_SCHEDULED', 'FAILED', 'CANCELLED']

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

const GAUGES: readonly {
  readonly name: string
  readonly help: string
  readonly label: string | null
  readonly series: (figures: JobFigures) => Series
}[] = [
  {
    name: 'regie_jobs',
    help: 'Jobs that can be found, by status.',
    label: 'status',
    series: ({ counts }) =>
      STATUSES.map((status) => [status, sum(counts.filter((of) => of.status === status).map(({ jobs }) => jobs))]),
  },
  {
    name: 'regie_jobs_oldest_due_age_seconds',
    help: 'How long the oldest job that is due has been waiting, by type.',
    label: 'type',
    series: ({ oldestDue }) => oldestDue.map(({ type, waitingMs }) => [type, waitingMs / 1_000]),
  },
  {
    name: 'regie_job_type_failing',
    help: '1 for a job type that keeps failing.',
    label: 'type',
    series: ({ failingTypes }) => failingTypes.map(({ type }) => [type, 1]),
  },
  {
    name: 'regie_job_types_paused',
    help: 'Job types that an operator has paused.',
    label: null,
    series: ({ pausedTypes }) => [[null, pausedTypes.length]],
  },
  {
    name: 'regie_job_breakers_open',
    help: 'Circuit breakers that are open or being probed, by job type.',
    label: 'type',
    series: ({ openBreakers }) =>
      [...new Set(openBreakers.map(({ type }) => type))].map((type) => [
        type,
        openBreakers.filter((breaker) => breaker.type === type).length,
      ]),
  },
  {
    name: 'regie_jobs_quarantined',
    help: 'Jobs that killed their workers and that nobody has retried or handled.',
    label: null,
    series: ({ quarantined }) => [[null, sum(quarantined.map(({ jobs }) => jobs))]],
  },
  {
    name: 'regie_job_schedule_overdue_seconds',
    help: 'How late the next firing of a schedule is; 0 while it is in time, paused, or taken out by a release.',
    label: 'schedule',
    series: ({ schedules }) => schedules.map(({ name, overdueMs }) => [name, Math.max(0, overdueMs) / 1_000]),
  },
]
