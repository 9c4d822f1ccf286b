import { beforeEach, describe, expect, test } from 'vitest'
import { composeMail, type MailTransport, type Message, senderOf } from '../../src/domain/mail/index.ts'
import {
  addAttribute,
  createDraft,
  draftReminder,
  ORGANISATION_MAIL,
  planActivationFailedMail,
} from '../../src/domain/organisation/index.ts'
import type { Call } from '../../src/domain/call.ts'
import { enqueue, enqueueMany } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { finished, useEngines } from '../jobs/support.ts'
import { activate, discard, newTenant } from './tenant.ts'

const db = useDatabase()
const engines = useEngines(db)

let sent: Message[] = []
const transport: MailTransport = {
  send: async (message) => {
    sent.push(message)
    return { reply: '250' }
  },
  close() {},
}
const delivery = composeMail({
  kinds: ORGANISATION_MAIL,
  outgoing: { sender: senderOf('r@regie.example')!, transport },
})

beforeEach(async () => {
  sent = []
  await db.pool.query(`delete from job; delete from job_finished; truncate mail`)
  // What the tests before left open is no candidate of this one.
  await pastTheTriggers(`update org_model_version set created_at = now() where status = 'DRAFT'`)
  await pastTheTriggers(`update org_model_operation set created_at = now()`)
})

/** Runs the check once; answers with what it counted. */
async function check(days = 7, locale = 'en') {
  const { job } = draftReminder({ days, locale })
  const { engine, signals } = await engines.start([job])
  const { jobId } = await enqueue(db.database, job, {
    tenantId: null,
    payload: {},
    correlationId: 'corr-check',
    triggeredBy: 'system',
  })
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  await engine.stop(1_000)
  return (await finished(db, jobId))!
}

/** Delivers what was planned; answers when all of it has ended. */
async function deliver() {
  const { rows } = await db.pool.query<{ job_id: string }>(`select job_id from mail where status = 'PLANNED'`)
  const { signals } = await engines.start([delivery])
  for (const { job_id } of rows) await signals.first('ENDED', (signal) => signal.jobId === job_id)
}

const mails = async () =>
  (await db.pool.query('select tenant_id, about_id, recipient, status, code, key, facts from mail order by planned_at'))
    .rows

async function tenantWithDraft(daysOld: number, name = 'Spring'): Promise<{ call: Call; draftId: string }> {
  const call = await newTenant(db.database)
  await member(call, 'anna')
  const draft = await createDraft(call, { name })
  await age(draft.id, daysOld)
  return { call, draftId: draft.id }
}

const member = (call: Call, subject: string) =>
  db.pool.query(
    `insert into membership (tenant_id, subject, roles, token_issued_at, email) values ($1, $2, '{editor}', now(), $3)`,
    [call.viewer.tenantId, subject, `${subject}@acme.example`],
  )

/** As if the draft had been opened, and edited, so many days ago. */
async function age(draftId: string, days: number) {
  const back = `now() - interval '${days * 24} hours 1 minute'`
  await pastTheTriggers(`update org_model_version set created_at = ${back} where id = '${draftId}'`)
  await pastTheTriggers(`update org_model_operation set created_at = ${back} where version_id = '${draftId}'`)
}

/** The operation log only grows, says a trigger; a test that cannot wait for days has to write over it. */
async function pastTheTriggers(sql: string) {
  await db.pool.query(`begin; set local session_replication_role = replica; ${sql}; commit`)
}

const editBy = (call: Call, subject: string) =>
  addAttribute(
    { ...call, viewer: { ...call.viewer, subject } },
    { expectedContentRevision: 0, key: 'level', label: 'Level', dataType: 'NUMBER' },
  )

test('J55 J57 one check finds the idle drafts of all tenants, and only those', async () => {
  const [idle, alsoIdle] = [await tenantWithDraft(7), await tenantWithDraft(30)]
  await tenantWithDraft(6)
  const run = await check()
  expect(run).toMatchObject({ status: 'SUCCEEDED' })
  expect(run.output).toEqual({ found: 2, processed: 2, skipped: 0, failed: 0, correlationId: 'corr-check' })
  const planned = await mails()
  expect(planned.map(({ about_id }) => about_id).toSorted()).toEqual([idle.draftId, alsoIdle.draftId].toSorted())
  expect(planned.map(({ recipient }) => recipient)).toEqual(['anna', 'anna'])
})

test('J50 J54 a second run plans nothing again; after as many days again there is a second reminder', async () => {
  const { draftId } = await tenantWithDraft(8)
  await check()
  expect((await check()).output).toMatchObject({ found: 1, processed: 0, skipped: 1 })
  await age(draftId, 13)
  expect((await check()).output).toMatchObject({ processed: 0, skipped: 1 })
  await age(draftId, 14)
  expect((await check()).output).toMatchObject({ processed: 1, skipped: 0 })
  expect((await mails()).map(({ key }) => key)).toEqual([`${draftId}:0:1`, `${draftId}:0:2`])
})

test('J60 four checks at once plan one mail per draft', async () => {
  await tenantWithDraft(7)
  await tenantWithDraft(7)
  // At most one runs at a time: without that limit they are still right.
  const { limits: _, ...job } = draftReminder({ days: 7, locale: 'en' }).job
  const { signals } = await engines.start([job])
  const jobs = await enqueueMany(
    db.database,
    job,
    [1, 2, 3, 4].map(() => ({ tenantId: null, payload: {}, correlationId: 'c', triggeredBy: 'system' })),
  )
  await signals.ended(4)
  const runs = await Promise.all(jobs.map(async ({ jobId }) => (await finished(db, jobId))!))
  const processed = runs.map(({ output }) => (output as { processed: number }).processed)
  expect(processed.reduce((sum, count) => sum + count, 0)).toBe(2)
  expect(await mails()).toHaveLength(2)
})

test('it goes to whoever edited the draft last', async () => {
  const { call, draftId } = await tenantWithDraft(0)
  await member(call, 'bob')
  await editBy(call, 'bob')
  await age(draftId, 9)
  await check()
  expect(await mails()).toMatchObject([{ recipient: 'bob', facts: { contentRevision: 1 } }])
  await deliver()
  expect(sent).toMatchObject([
    { to: 'bob@acme.example', subject: expect.stringMatching(/^Draft 2 “Spring” has been waiting for 9 days$/) },
  ])
  expect(sent[0]!.text).toContain('nobody has edited it for 9 days')
})

test('in the language that was set', async () => {
  await tenantWithDraft(8)
  await check(1, 'nl')
  await deliver()
  expect(sent[0]!.subject).toBe('Concept 2 ‘Spring’ wacht al 8 dagen')
})

test('J56 J58 a draft that cannot be looked after keeps nobody else from being reminded', async () => {
  const [broken, fine] = [await tenantWithDraft(7), await tenantWithDraft(7)]
  await db.pool.query(
    `create function refuse_mail() returns trigger language plpgsql as $$ begin raise exception 'no mail here'; end $$;
     create trigger refuse_mail before insert on mail for each row
       when (new.about_id = '${broken.draftId}') execute function refuse_mail()`,
  )
  try {
    expect((await check()).output).toMatchObject({ found: 2, processed: 1, skipped: 0, failed: 1 })
    expect(await mails()).toMatchObject([{ about_id: fine.draftId }])
  } finally {
    await db.pool.query('drop function refuse_mail() cascade')
  }
  // J20: the next run finds it again.
  expect((await check()).output).toMatchObject({ found: 2, processed: 1, skipped: 1, failed: 0 })
})

describe('J31 J62 between the check and the dispatch', () => {
  for (const [what, change, code] of [
    ['edited', (call: Call) => editBy(call, 'anna'), 'orgmodel.draft_reminder.draft_edited'],
    ['discarded', (call: Call, id: string) => discard(call, id), 'orgmodel.draft_reminder.draft_closed'],
    ['activated', (call: Call, id: string) => activate(call, id), 'orgmodel.draft_reminder.draft_closed'],
  ] as const)
    test(`a draft is ${what}: nothing is sent`, async () => {
      const { call, draftId } = await tenantWithDraft(7)
      await check()
      await change(call, draftId)
      await deliver()
      expect(await mails()).toMatchObject([{ status: 'CANCELLED', code }])
      expect(sent).toEqual([])
    })
})

test('J79 the number of days is the domain’s: 0 is never, and then nothing recurs', async () => {
  await tenantWithDraft(400)
  expect(await check(0)).toMatchObject({ status: 'CANCELLED', reason: 'orgmodel.draft_reminder.off' })
  expect(draftReminder({ days: 0, locale: 'en' }).schedules).toEqual([])
  expect(draftReminder({ days: 1, locale: 'en' }).schedules).toMatchObject([{ everyMs: 3_600_000 }])
})

describe('a scheduled activation that failed', () => {
  const scheduledFor = new Date('2027-01-04T06:00:00Z')
  const tell = ({ call, draftId }: { call: Call; draftId: string }, own = {}) =>
    db.database.transaction(call.viewer.tenantId, (tx) =>
      planActivationFailedMail(tx, {
        versionId: draftId,
        recipient: 'anna',
        scheduledFor,
        code: 'orgmodel.activation.blocking_issues',
        correlationId: 'corr-activation',
        ...own,
      }),
    )

  test('is told to who planned it: once per moment', async () => {
    const scene = await tenantWithDraft(1)
    expect(await tell(scene)).toMatchObject({ created: true })
    expect(await tell(scene)).toMatchObject({ created: false })
    await deliver()
    expect(sent).toMatchObject([{ to: 'anna@acme.example', subject: 'Draft 2 “Spring” was not activated' }])
    expect(sent[0]!.text).toMatch(/on 4 January 2027 (at|,) ?06:00 UTC/)
    expect(sent[0]!.text).toContain('Reason: orgmodel.activation.blocking_issues\nReference: corr-activation')
  })

  test('in Dutch', async () => {
    await tell(await tenantWithDraft(1), { locale: 'nl-NL' })
    await deliver()
    expect(sent[0]!.text).toContain('zou op 4 januari 2027 om 06:00 UTC geactiveerd worden')
  })

  test('J31 and not any more when the draft was activated or discarded meanwhile', async () => {
    const [activated, discarded] = [await tenantWithDraft(1), await tenantWithDraft(1)]
    await tell(activated)
    await tell(discarded)
    await activate(activated.call, activated.draftId)
    await discard(discarded.call, discarded.draftId)
    await deliver()
    const code = 'orgmodel.activation_failed.draft_closed'
    expect(await mails()).toMatchObject([{ code }, { code }])
    expect(sent).toEqual([])
  })

  test('J36 takes a code for its reason, and no sentence', async () => {
    const scene = await tenantWithDraft(1)
    await expect(tell(scene, { code: 'Persona “Anna” is in use' })).rejects.toThrow(/code/)
    expect(await mails()).toEqual([])
  })

  test('is rolled back with what it tells of', async () => {
    const { call, draftId } = await tenantWithDraft(1)
    const giveUp = db.database.transaction(call.viewer.tenantId, async (tx) => {
      await planActivationFailedMail(tx, {
        versionId: draftId,
        recipient: 'anna',
        scheduledFor,
        code: 'orgmodel.activation.blocking_issues',
        correlationId: 'c',
      })
      throw new Error('not given up after all')
    })
    await expect(giveUp).rejects.toThrow('not given up')
    expect(await mails()).toEqual([])
  })
})
