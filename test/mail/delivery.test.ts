import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type MailTransport, planMail } from '../../src/domain/mail/index.ts'
import { cancelJobs } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { gate, useEngines, waiting } from '../jobs/support.ts'
import {
  deliveryOver,
  deliveryTo,
  HELLO,
  jobOf,
  mailRow,
  nextAttempt,
  noteKind,
  plan,
  script,
  tenantWithAnna,
} from './scene.ts'
import { at, type MailServer, refusal, useServers } from './smtp.ts'

const db = useDatabase()
const engines = useEngines(db)
const servers = useServers()
const transports: MailTransport[] = []
let tenantId = ''

beforeEach(async () => {
  script.say = () => HELLO
  tenantId = await tenantWithAnna(db)
})
afterEach(() => {
  for (const transport of transports.splice(0)) transport.close()
})

/** An engine that delivers to this server. */
async function engineTo(server: MailServer | number, waits = {}) {
  const { job, transport } = deliveryTo(at(typeof server === 'number' ? server : server.port), waits)
  transports.push(transport)
  return engines.start([job])
}

const MINUTE = 60_000
const messageIds = (server: MailServer) => server.received.map(({ raw }) => /^Message-ID: (.*)\r$/m.exec(raw)?.[1])
const events = async (id: string) =>
  (await db.pool.query('select type, data from event where subject_id = $1 order by sequence', [id])).rows

test('J27 J29 J69 a mail is written, sent once and marked, and keeps neither address nor text', async () => {
  const server = await servers.mail()
  const { signals } = await engineTo(server)
  const { mailId, jobId } = await plan(db, tenantId)
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  expect(server.received).toHaveLength(1)
  expect(server.received[0]).toMatchObject({ from: 'regie@regie.example', to: ['anna@acme.example'] })
  expect(await mailRow(db, mailId)).toMatchObject({
    status: 'SENT',
    version: 3,
    message_id: `<${mailId}@regie.example>`,
    reply: '250 2.0.0',
    code: null,
  })
  expect(await jobOf(db, jobId)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
  expect((await events(mailId)).map(({ type }) => type)).toEqual(['mail.planned', 'mail.sending', 'mail.sent'])
  for (const table of ['mail', 'job_finished', 'event', 'job_event'])
    expect(
      (await db.pool.query(`select * from ${table} t where t::text ~ 'acme.example|Something happened'`)).rows,
      table,
    ).toEqual([])
})

describe('J29 J49 the same key', () => {
  test('is one mail, however often and in however many transactions at once it is planned', async () => {
    const key = 'the same'
    const planned = await Promise.all(
      Array.from({ length: 8 }, () => plan(db, tenantId, { key, about: '0193a000-0000-7000-8000-000000000001' })),
    )
    expect(new Set(planned.map(({ mailId }) => mailId)).size).toBe(1)
    expect(planned.filter(({ created }) => created)).toHaveLength(1)
    expect((await db.pool.query('select from job where tenant_id = $1', [tenantId])).rowCount).toBe(1)
    // After it was sent, too.
    const server = await servers.mail()
    const { signals } = await engineTo(server)
    await signals.first('ENDED', (signal) => signal.jobId === planned[0]!.jobId)
    expect(await plan(db, tenantId, { key })).toMatchObject({ created: false, mailId: planned[0]!.mailId })
    expect(server.received).toHaveLength(1)
  })

  test('is another mail for another tenant', async () => {
    const other = await tenantWithAnna(db)
    const [mine, theirs] = [await plan(db, tenantId, { key: 'k' }), await plan(db, other, { key: 'k' })]
    expect(theirs.created).toBe(true)
    expect(theirs.mailId).not.toBe(mine.mailId)
  })

  test('that was rolled back is free again', async () => {
    const planning = db.database.transaction(tenantId, async (tx) => {
      await planMail(tx, noteKind, {
        about: tenantId,
        recipient: 'anna',
        key: 'gone',
        facts: { n: 1 },
        correlationId: 'c',
      })
      throw new Error('the source mutation failed')
    })
    await expect(planning).rejects.toThrow('the source mutation failed')
    expect((await db.pool.query('select from job where tenant_id = $1', [tenantId])).rowCount).toBe(0)
    expect(await plan(db, tenantId, { key: 'gone' })).toMatchObject({ created: true })
  })
})

test('K1 J21 J30 nobody listens: waits of 5 m, 15 m, 1 h and 6 h, then failed, and never the 24 h', async () => {
  const { signals } = await engineTo(await servers.nobody())
  const { mailId, jobId } = await plan(db, tenantId)
  for (const [index, minutes] of [5, 15, 60, 360].entries()) {
    await nextAttempt(db, signals, jobId, index + 1)
    const job = await jobOf(db, jobId)
    expect(job).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: index + 1 })
    // Less up to a tenth at random, and what has gone by since.
    expect(job.waitsMs).toBeGreaterThan(minutes * MINUTE * 0.9 - 20_000)
    expect(job.waitsMs).toBeLessThanOrEqual(minutes * MINUTE)
    expect(await mailRow(db, mailId)).toMatchObject({ status: 'PLANNED', code: 'mail.unavailable' })
    await db.pool.query('delete from job_breaker')
  }
  await nextAttempt(db, signals, jobId, 5)
  expect(await jobOf(db, jobId)).toMatchObject({ status: 'FAILED', attempt: 5, code: 'mail.unavailable' })
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'FAILED', code: 'mail.unavailable' })
  const { rows } = await db.pool.query('select failure_class, correlation_id from job_event where job_id = $1', [jobId])
  expect(rows).toHaveLength(5)
  expect(new Set(rows.map((row) => `${row.failure_class} ${row.correlation_id}`))).toEqual(
    new Set(['TRANSIENT corr-mail']),
  )
})

test('J21 a server that is busy twice gets it at the third attempt, under the same Message-ID', async () => {
  const server = await servers.mail()
  server.onMessage = () => (server.received.length < 3 ? refusal(451, '4.3.0 Try again later') : null)
  const { signals } = await engineTo(server)
  const { mailId, jobId } = await plan(db, tenantId)
  for (const attempt of [1, 2, 3]) await nextAttempt(db, signals, jobId, attempt)
  expect(await jobOf(db, jobId)).toMatchObject({ status: 'SUCCEEDED', attempt: 3 })
  expect(new Set(messageIds(server))).toEqual(new Set([`<${mailId}@regie.example>`]))
  expect((await events(mailId)).map(({ type }) => type)).toEqual([
    'mail.planned',
    ...['mail.sending', 'mail.postponed', 'mail.sending', 'mail.postponed'],
    ...['mail.sending', 'mail.sent'],
  ])
})

test('J19 J30 what is refused for good is not tried again', async () => {
  const server = await servers.mail()
  server.onRecipient = () => refusal(550, '5.1.1 <anna@acme.example> is not known here')
  const { signals } = await engineTo(server)
  const { mailId, jobId } = await plan(db, tenantId)
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  expect(await jobOf(db, jobId)).toMatchObject({ status: 'FAILED', attempt: 1, code: 'mail.rejected' })
  const mail = await mailRow(db, mailId)
  expect(mail).toMatchObject({ status: 'FAILED', code: 'mail.rejected' })
  expect(mail.problem).toContain('550 5.1.1 to RCPT TO')
  expect(mail.problem).not.toContain('anna')
})

test('a server that falls silent after the text: the attempt is a time-out', async () => {
  const server = await servers.mail()
  server.onMessage = () => new Promise(() => {})
  const { signals } = await engineTo(server, { silenceMs: 500 })
  const { jobId, mailId } = await plan(db, tenantId)
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  expect(await jobOf(db, jobId)).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1 })
  const { rows } = await db.pool.query('select failure_class, code from job_event where job_id = $1', [jobId])
  expect(rows).toEqual([{ failure_class: 'TIMEOUT', code: 'mail.timeout' }])
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'PLANNED' })
})

test('J08 taken over by the server, connection lost before its answer: a second copy under the same Message-ID', async () => {
  const server = await servers.mail()
  server.onMessage = () => {
    if (server.received.length > 1) return null
    server.cut()
    return new Promise(() => {})
  }
  const { signals } = await engineTo(server)
  const { jobId } = await plan(db, tenantId)
  await nextAttempt(db, signals, jobId, 1)
  await nextAttempt(db, signals, jobId, 2)
  expect(await jobOf(db, jobId)).toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
  expect(messageIds(server)).toHaveLength(2)
  expect(new Set(messageIds(server)).size).toBe(1)
})

describe('J31 J64 is it still wanted? Asked before each dispatch', () => {
  const refused = async (jobId: string, mailId: string, code: string) => {
    expect(await jobOf(db, jobId)).toMatchObject({ status: 'CANCELLED', reason: code })
    expect(await mailRow(db, mailId)).toMatchObject({ status: 'CANCELLED', code })
  }

  test('no longer at the first', async () => {
    const server = await servers.mail()
    script.say = () => ({ notApplicable: 'test.over' })
    const { signals } = await engineTo(server)
    const { jobId, mailId } = await plan(db, tenantId)
    await signals.first('ENDED', (signal) => signal.jobId === jobId)
    await refused(jobId, mailId, 'test.over')
    expect(server.received).toEqual([])
  })

  test('at the first, and no longer at the second', async () => {
    const server = await servers.mail()
    server.onMessage = () => refusal(451, '4.3.0 Try again later')
    const { signals } = await engineTo(server)
    const { jobId, mailId } = await plan(db, tenantId)
    await nextAttempt(db, signals, jobId, 1)
    script.say = () => ({ notApplicable: 'test.over' })
    await nextAttempt(db, signals, jobId, 2)
    await refused(jobId, mailId, 'test.over')
    expect(server.received).toHaveLength(1)
  })

  for (const [what, change, code] of [
    ['whose membership was revoked', `update membership set revoked_at = now() + '1 minute'`, 'mail.recipient_left'],
    ['who was never seen', 'delete from membership', 'mail.recipient_left'],
    ['who has no address', 'update membership set email = null', 'mail.no_address'],
    ['whose address is none', `update membership set email = 'a@b, c@d'`, 'mail.address_invalid'],
  ] as const)
    test(`J66 somebody ${what} gets nothing: ${code}`, async () => {
      const server = await servers.mail()
      const { jobId, mailId } = await plan(db, tenantId)
      await db.pool.query(`${change} where tenant_id = $1`, [tenantId])
      const { signals } = await engineTo(server)
      await signals.first('ENDED', (signal) => signal.jobId === jobId)
      await refused(jobId, mailId, code)
      expect(server.received).toEqual([])
    })

  test('without a mail server nothing is left waiting', async () => {
    const { signals } = await engines.start([deliveryOver(null)])
    const { jobId, mailId } = await plan(db, tenantId)
    await signals.first('ENDED', (signal) => signal.jobId === jobId)
    await refused(jobId, mailId, 'mail.not_configured')
  })

  test('a kind that this version does not know is tried again, since a newer version may', async () => {
    const { jobId, mailId } = await plan(db, tenantId)
    await db.pool.query(`update mail set kind = 'test.of_the_future' where id = $1`, [mailId])
    const { signals } = await engineTo(await servers.mail())
    await signals.first('ENDED', (signal) => signal.jobId === jobId)
    expect(await jobOf(db, jobId)).toMatchObject({ status: 'RETRY_SCHEDULED' })
    expect(await mailRow(db, mailId)).toMatchObject({ status: 'PLANNED' })
  })
})

test('an address that changes between two attempts is the new one', async () => {
  const server = await servers.mail()
  server.onMessage = () => (server.received.length === 1 ? refusal(451, '4.3.0 Try again later') : null)
  const { signals } = await engineTo(server)
  const { jobId } = await plan(db, tenantId)
  await nextAttempt(db, signals, jobId, 1)
  await db.pool.query(`update membership set email = 'anna@new.example' where tenant_id = $1`, [tenantId])
  await nextAttempt(db, signals, jobId, 2)
  expect(server.received.map(({ to }) => to[0])).toEqual(['anna@acme.example', 'anna@new.example'])
})

test('another tenant’s job never reaches a mail', async () => {
  const server = await servers.mail()
  const { mailId } = await plan(db, tenantId)
  await db.pool.query('delete from job')
  const other = await tenantWithAnna(db)
  const { jobId } = await plan(db, other)
  await db.pool.query('update job set payload = $2 where id = $1', [jobId, { mailId }])
  const { signals } = await engineTo(server)
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  expect(await jobOf(db, jobId)).toMatchObject({ status: 'CANCELLED', reason: 'mail.not_found' })
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'PLANNED' })
  expect(server.received).toEqual([])
})

test('K8 a cancel in the middle of the conversation ends it', async () => {
  const server = await servers.mail()
  const taken = gate()
  server.onMessage = () => {
    taken.open()
    return new Promise(() => {})
  }
  const { signals } = await engineTo(server)
  const { jobId, mailId } = await plan(db, tenantId)
  await taken.promise
  await cancelJobs(db.database, { tenantId, jobIds: [jobId], reason: 'test', actor: 'olga' })
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'CANCELLED' })
  await expect.poll(() => server.open).toBe(0)
})

test('J63 a process that stops in the middle of the conversation spends no attempt, and the next one sends', async () => {
  const server = await servers.mail()
  const taken = gate()
  server.onMessage = () => {
    if (server.received.length > 1) return null
    taken.open()
    return new Promise(() => {})
  }
  const first = await engineTo(server)
  const { jobId, mailId } = await plan(db, tenantId)
  await taken.promise
  await first.engine.stop(400)
  expect(await waiting(db, jobId)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'PLANNED', code: 'job.interrupted' })
  const second = await engineTo(server)
  await second.signals.first('ENDED', (signal) => signal.jobId === jobId)
  expect(await mailRow(db, mailId)).toMatchObject({ status: 'SENT', code: null })
  expect(new Set(messageIds(server)).size).toBe(1)
})

test('no connection to the database is held while the mail server is slow', async () => {
  const server = await servers.mail()
  const [taken, answer] = [gate(), gate<null>()]
  server.onMessage = () => {
    taken.open()
    return answer.promise
  }
  const { signals, database } = await engineTo(server)
  const { jobId } = await plan(db, tenantId)
  await taken.promise
  await expect.poll(() => database.pool.totalCount - database.pool.idleCount).toBe(0)
  expect((await waiting(db, jobId))?.status).toBe('PROCESSING')
  answer.open(null)
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
})
