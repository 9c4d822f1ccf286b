import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { showJobFigures, type JobFigures } from '../../src/server/job-metrics.ts'

const FIGURES: JobFigures = {
  failingTypes: [{ type: 'mail.delivery' }],
  pausedTypes: [{}, {}],
  oldestDue: [{ type: 'mail.delivery', waitingMs: 90_500 }],
  quarantined: [{ jobs: 2 }, { jobs: 1 }],
  openBreakers: [{ type: 'mail.delivery' }, { type: 'mail.delivery' }, { type: 'web.hook' }],
  counts: [
    { status: 'SUCCEEDED', jobs: 10_000_000 },
    { status: 'SUCCEEDED', jobs: 1 },
    { status: 'FAILED', jobs: 3 },
  ],
  schedules: [
    { name: 'jobs.retention', overdueMs: 0 },
    { name: 'orgmodel.draft_reminder', overdueMs: 61_000 },
  ],
}

/** The series of a registry without their help texts. */
const scrape = async (registry: Registry) =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))

test('J86 R55 the metrics that alerts are made of, with labels of closed lists only', async () => {
  const registry = new Registry()
  showJobFigures(registry, { read: async () => FIGURES, onFailure: () => {} })
  expect(await scrape(registry)).toEqual([
    'regie_jobs{status="SCHEDULED"} 0',
    'regie_jobs{status="PROCESSING"} 0',
    'regie_jobs{status="SUCCEEDED"} 10000001',
    'regie_jobs{status="RETRY_SCHEDULED"} 0',
    'regie_jobs{status="FAILED"} 3',
    'regie_jobs{status="CANCELLED"} 0',
    'regie_jobs_oldest_due_age_seconds{type="mail.delivery"} 90.5',
    'regie_job_type_failing{type="mail.delivery"} 1',
    'regie_job_types_paused 2',
    'regie_job_breakers_open{type="mail.delivery"} 2',
    'regie_job_breakers_open{type="web.hook"} 1',
    'regie_jobs_quarantined 3',
    'regie_job_schedule_overdue_seconds{schedule="jobs.retention"} 0',
    'regie_job_schedule_overdue_seconds{schedule="orgmodel.draft_reminder"} 61',
  ])
})

test('J86 however many scrapes come, the database is asked once', async () => {
  const registry = new Registry()
  let reads = 0
  showJobFigures(registry, { read: async () => (reads++, FIGURES), freshMs: 3_600_000, onFailure: () => {} })
  await Promise.all(Array.from({ length: 20 }, () => scrape(registry)))
  await scrape(registry)
  expect(reads).toBe(1)
})

test('J86 a type that has recovered has no series any more', async () => {
  const registry = new Registry()
  let figures = FIGURES
  showJobFigures(registry, { read: async () => figures, freshMs: 0, onFailure: () => {} })
  expect((await scrape(registry)).join()).toContain('regie_job_type_failing{')
  figures = { ...FIGURES, failingTypes: [], openBreakers: [] }
  expect((await scrape(registry)).join()).not.toMatch(/regie_job_type_failing|regie_job_breakers_open/)
})

test('J86 a database that cannot be read takes the series away, never the whole page, and is told once per reading', async () => {
  const registry = new Registry()
  const failures: unknown[] = []
  let away = true
  const read = async () => {
    if (away) throw new Error('away')
    return FIGURES
  }
  showJobFigures(registry, { read, freshMs: 0, onFailure: (error) => failures.push(error) })
  expect(await scrape(registry)).toEqual([])
  expect(failures.length).toBeGreaterThan(0)
  away = false
  expect((await scrape(registry)).length).toBe(14)
})
