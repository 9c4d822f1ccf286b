import { afterEach, expect, test, vi } from 'vitest'
import { createDraft } from '../../src/domain/organisation/index.ts'
import { enqueue, JobRegistry } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { useEngines } from '../jobs/support.ts'
import { newTenant } from '../organisation/tenant.ts'
import { useServers } from './smtp.ts'

const db = useDatabase()
const engines = useEngines(db)
const servers = useServers()

const REMINDER = 'orgmodel.draft_reminder'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

/** What a worker thread would import with this environment. */
async function withEnvironment(environment: Readonly<Record<string, string>>) {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  return import('../../src/server/job-definitions.ts')
}

test('J97 mail and its periodic check are among what worker threads run, whatever is configured', async () => {
  const { jobDefinitions, jobSchedules } = await withEnvironment({})
  expect(new JobRegistry(jobDefinitions).types).toEqual(
    expect.arrayContaining(['mail.delivery', REMINDER, 'orgmodel.resolution']),
  )
  expect(jobSchedules.map(({ name }) => name)).toContain(REMINDER)
  vi.resetModules()
  const off = await withEnvironment({ DRAFT_REMINDER_DAYS: '0' })
  expect(off.jobSchedules.map(({ name }) => name)).not.toContain(REMINDER)
})

test('from an idle draft to the inbox, as configured', async () => {
  const server = await servers.mail()
  const { jobDefinitions, jobSchedules, release } = await withEnvironment({
    SMTP_URL: `smtp://127.0.0.1:${server.port}`,
    MAIL_FROM: 'Regie <regie@acme.example>',
    MAIL_LOCALE: 'nl',
    DRAFT_REMINDER_DAYS: '2',
  })
  const call = await newTenant(db.database)
  const { id } = await createDraft(call, { name: 'Zomer' })
  await db.pool.query(`update org_model_version set created_at = now() - interval '49 hours' where id = $1`, [id])
  await db.pool.query(
    `insert into membership (tenant_id, subject, roles, token_issued_at, email)
     values ($1, 'anna', '{editor}', now(), 'anna@acme.example')`,
    [call.viewer.tenantId],
  )
  await engines.start(jobDefinitions)
  const { job } = jobSchedules.find(({ name }) => name === REMINDER)!
  await enqueue(db.database, job, { tenantId: null, payload: {}, correlationId: 'c', triggeredBy: 'system' })
  await expect.poll(() => server.received.length, { timeout: 10_000 }).toBe(1)
  expect(server.received[0]).toMatchObject({ from: 'regie@acme.example', to: ['anna@acme.example'] })
  expect(server.received[0]!.raw).toContain('Concept 2')
  release()
  await expect.poll(() => server.open).toBe(0)
})
