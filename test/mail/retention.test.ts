import { expect, test } from 'vitest'
import { mailRetention } from '../../src/domain/mail/index.ts'
import { enqueue } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { finished, useEngines } from '../jobs/support.ts'
import { plan, tenantWithAnna } from './scene.ts'

const db = useDatabase()
const engines = useEngines(db)

/** Mails of all statuses, so many of each, as old as that. */
async function mails(tenantId: string, ago: string, each = 1): Promise<void> {
  await db.pool.query(
    `alter table mail disable trigger user;
     insert into mail (tenant_id, id, kind, about_id, key, recipient, locale, status, job_id, correlation_id, status_at)
     select '${tenantId}', gen_random_uuid(), 'test.note', gen_random_uuid(), gen_random_uuid()::text, 'anna', 'en', status,
       gen_random_uuid(), 'c', now() - interval '${ago}'
     from unnest(array['PLANNED', 'SENDING', 'SENT', 'FAILED', 'CANCELLED']) status, generate_series(1, ${each});
     alter table mail enable trigger user`,
  )
}

test('J36 J50 mails that have been over for 90 days go, a few thousand at a time; what failed or is under way stays', async () => {
  const [here, elsewhere] = [await tenantWithAnna(db), await tenantWithAnna(db)]
  await mails(here, '91 days')
  await mails(here, '89 days')
  await mails(elsewhere, '120 days', 6_000)
  const before = await plan(db, here, { key: 'again' })
  const { signals } = await engines.start([mailRetention])
  const run = async () => {
    const { jobId } = await enqueue(db.database, mailRetention, {
      tenantId: null,
      payload: {},
      correlationId: 'c',
      triggeredBy: 'system',
    })
    await signals.first('ENDED', (signal) => signal.jobId === jobId)
    return (await finished(db, jobId))!.output
  }
  expect(await run()).toEqual({ deleted: 12_002 })
  expect(await run()).toEqual({ deleted: 0 })
  const { rows } = await db.pool.query(
    `select status, count(*)::int as mails from mail where tenant_id = $1 group by 1 order by 1`,
    [here],
  )
  expect(rows).toEqual([
    { status: 'CANCELLED', mails: 1 },
    { status: 'FAILED', mails: 2 },
    { status: 'PLANNED', mails: 3 },
    { status: 'SENDING', mails: 2 },
    { status: 'SENT', mails: 1 },
  ])
  expect(await plan(db, here, { key: 'again' })).toMatchObject({ created: false, mailId: before.mailId })
})
