import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { useDatabase } from '../harness/database.ts'
import { makeDue, waiting } from '../jobs/support.ts'
import { DIST, useProcesses } from '../jobs/threads-support.ts'
import { jobOf, mailRow, plan, tenantWithAnna } from './scene.ts'
import { useServers } from './smtp.ts'

const db = useDatabase()
const processes = useProcesses(db)
const servers = useServers()
const definitionsModule = join(DIST, 'test/mail/fixtures/definitions.js')

afterEach(() => {
  delete process.env['TEST_SMTP_PORT']
})

test('J08 J31 killed between the text and the commit: sent again under the same Message-ID, once', async () => {
  const server = await servers.mail()
  process.env['TEST_SMTP_PORT'] = String(server.port)
  const tenantId = await tenantWithAnna(db)
  const first = await processes.start({ definitionsModule, threads: 1 })
  server.onMessage = async () => {
    if (server.received.length === 1) await processes.kill(first)
    return null
  }
  const { mailId, jobId } = await plan(db, tenantId)
  await expect.poll(() => server.received.length, { timeout: 10_000 }).toBe(1)
  // Nobody has told: the row still says what the dead process was about to do.
  await expect.poll(() => first.signalCode ?? first.exitCode).toBe('SIGKILL')
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'SENDING' })

  const second = await processes.start({ definitionsModule, threads: 1 })
  await expect.poll(async () => (await waiting(db, jobId))?.status, { timeout: 15_000 }).toBe('RETRY_SCHEDULED')
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'PLANNED', code: 'job.worker_lost' })
  await makeDue(db, jobId)
  second.send('wake')
  await expect.poll(async () => (await mailRow(db, mailId)).status, { timeout: 15_000 }).toBe('SENT')
  expect(await jobOf(db, jobId)).toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
  const ids = server.received.map(({ raw }) => /^Message-ID: (.*)\r$/m.exec(raw)?.[1])
  expect(ids).toEqual([`<${mailId}@regie.example>`, `<${mailId}@regie.example>`])

  // An idle connection to the mail server does not keep a thread from ending.
  expect(server.open).toBe(1)
  expect(await processes.stop(second)).toBe(0)
  await expect.poll(() => server.open).toBe(0)
})
