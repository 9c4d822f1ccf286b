import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MailTransport } from '../../src/domain/mail/index.ts'
import { actOnJob, type JobAct, JobRegistry, waitingBecause } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { makeDue, useEngines, waiting } from '../jobs/support.ts'
import { deliveryTo, HELLO, jobOf, mailRow, nextAttempt, plan, script, tenantWithAnna } from './scene.ts'
import { at, MailServer, refusal, useServers } from './smtp.ts'

const db = useDatabase()
const engines = useEngines(db)
const servers = useServers()
const transports: MailTransport[] = []
let tenantId = ''

beforeEach(async () => {
  script.say = () => HELLO
  tenantId = await tenantWithAnna(db)
})
afterEach(async () => {
  for (const transport of transports.splice(0)) transport.close()
  await db.pool.query('delete from job_breaker')
})

function delivery(port: number) {
  const { job, transport } = deliveryTo(at(port))
  transports.push(transport)
  return job
}

describe('an operator', () => {
  /** A mail that was refused for good, by a server that is well again. */
  async function failedMail() {
    const server = await servers.mail()
    server.onMessage = () => refusal(554, '5.7.1 refused')
    const job = delivery(server.port)
    const { signals } = await engines.start([job])
    const mail = await plan(db, tenantId)
    await nextAttempt(db, signals, mail.jobId, 1)
    server.onMessage = () => null
    const act = (what: JobAct, reason = 'The server was corrected, says its owner.') =>
      actOnJob({ database: db.database, registry: new JobRegistry([job]) }, what, mail.jobId, {
        actor: 'olga',
        reason,
        correlationId: 'corr-operator',
      })
    return { ...mail, server, signals, act }
  }

  test('J31 J72 retries a failed mail: sent, under the same Message-ID, with who did it in its events', async () => {
    const { mailId, jobId, server, signals, act } = await failedMail()
    expect(await mailRow(db, mailId)).toMatchObject({ status: 'FAILED' })
    await act('RETRY')
    await signals.first('ENDED', (signal) => signal.jobId === jobId && signal.attempt === 2)
    expect(await mailRow(db, mailId)).toMatchObject({ status: 'SENT', code: null, problem: null })
    expect(server.received).toHaveLength(2)
    expect(new Set(server.received.map(({ raw }) => /^Message-ID: .*$/m.exec(raw)?.[0])).size).toBe(1)
    const { rows } = await db.pool.query(
      `select actor, reason from event where subject_id = $1 and type = 'mail.revived'`,
      [mailId],
    )
    expect(rows).toEqual([{ actor: 'olga', reason: 'The server was corrected, says its owner.' }])
  })

  test('J31 is told at once that there is nothing to say any more', async () => {
    const { mailId, jobId, act } = await failedMail()
    script.say = () => ({ notApplicable: 'test.over' })
    await expect(act('RETRY')).rejects.toMatchObject({
      code: 'job.no_longer_valid',
      message: 'There is nothing to tell any more: test.over.',
    })
    expect(await mailRow(db, mailId)).toMatchObject({ status: 'FAILED' })
    expect(await jobOf(db, jobId)).toMatchObject({ status: 'FAILED' })
  })

  test('K5 has dealt with it otherwise: both are cancelled, in words as long as the audit takes', async () => {
    const { mailId, jobId, act } = await failedMail()
    const reason = `Told her by telephone. ${'x'.repeat(470)}`
    await act('HANDLE', reason)
    expect(await mailRow(db, mailId)).toMatchObject({ status: 'CANCELLED', code: null, problem: reason })
    expect(await jobOf(db, jobId)).toMatchObject({ status: 'CANCELLED' })
  })

  test('cancels one that waits', async () => {
    const job = delivery(await servers.nobody())
    const { mailId, jobId } = await plan(db, tenantId)
    const by = { actor: 'olga', reason: 'Not wanted.', correlationId: 'c' }
    await actOnJob({ database: db.database, registry: new JobRegistry([job]) }, 'CANCEL', jobId, by)
    expect(await mailRow(db, mailId)).toMatchObject({ status: 'CANCELLED', problem: 'Not wanted.' })
  })
})

test('a server that is away opens the breaker: what waits spends no attempt, and goes out when it is back', async () => {
  const port = await servers.nobody()
  const { signals } = await engines.start([delivery(port)])
  for (let failed = 1; failed <= 5; failed++) {
    const { jobId } = await plan(db, tenantId)
    await signals.first('ENDED', (signal) => signal.jobId === jobId && signal.status === 'RETRY_SCHEDULED')
  }
  const breaker = async () => (await db.pool.query('select state, failures from job_breaker')).rows[0]
  await expect.poll(breaker).toEqual({ state: 'OPEN', failures: 5 })

  const { mailId, jobId } = await plan(db, tenantId)
  const looks = signals.of('IDLE').length
  await expect.poll(() => signals.of('IDLE').length, { timeout: 10_000 }).toBeGreaterThan(looks + 1)
  expect((await waitingBecause(db.database, [jobId])).get(jobId)).toMatchObject([
    { kind: 'BREAKER_OPEN', dependency: 'smtp' },
  ])
  expect(await waiting(db, jobId)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'PLANNED', version: 1 })

  const server = new MailServer({})
  await server.listen(port)
  try {
    await db.pool.query('update job_breaker set open_until = now()')
    await makeDue(db, jobId)
    await signals.first('ENDED', (signal) => signal.jobId === jobId && signal.status === 'SUCCEEDED')
    expect(await jobOf(db, jobId)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
    await expect.poll(breaker).toMatchObject({ state: 'CLOSED' })
  } finally {
    await server.stop()
  }
})

test('what is refused for good says nothing of the server and leaves the breaker closed', async () => {
  const server = await servers.mail()
  server.onRecipient = () => refusal(550, '5.1.1 unknown')
  const { signals } = await engines.start([delivery(server.port)])
  const mails = await Promise.all(Array.from({ length: 8 }, () => plan(db, tenantId)))
  for (const { jobId } of mails) await signals.first('ENDED', (signal) => signal.jobId === jobId)
  expect((await db.pool.query(`select from job_breaker where state <> 'CLOSED' or failures > 0`)).rowCount).toBe(0)
})
