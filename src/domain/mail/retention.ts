import { z } from 'zod'
import { statement } from '../../database/index.ts'
import { defineJob, defineSchedule, succeeded } from '../../jobs/index.ts'

/**
 * How long the row of a mail that is over stays: it says who was told what, and of a mail that has been sent its events
 * say enough. Longer than its job can be found, so that a key that is planned again has a job again.
 */
const KEPT_DAYS = 90

/** Rows deleted in one transaction: one that writes for long holds up every subscription. */
const MOST = 5_000

/** Deletes the mails that have been over for long. What failed stays until somebody deals with it, as its job does. */
export const mailRetention = defineJob({
  type: 'mail.retention',
  class: 'MAINTENANCE',
  payload: z.strictObject({}),
  timeoutMs: 10 * 60_000,
  idempotency: 'It deletes what is past its time; what is gone already is not there to be deleted.',
  displayName: () => 'Retention of mails',
  async run(_payload, context) {
    let deleted = 0
    for (;;) {
      context.signal.throwIfAborted()
      const [gone] = await context.step((tx) => tx.run(FORGET, [KEPT_DAYS, MOST]))
      deleted += gone!.rows
      if (gone!.rows < MOST) return succeeded({ deleted })
    }
  },
})

export const mailRetentionDaily = defineSchedule({
  name: mailRetention.type,
  job: mailRetention,
  payload: {},
  cron: '15 2 * * *',
})

// All tenants, oldest first, through the index of those that are over.
const FORGET = statement<{ readonly rows: number }>(
  'mail.forget',
  `with gone as (
     delete from mail where ctid = any(array(
       select ctid from mail
       where status in ('SENT', 'CANCELLED') and status_at < now() - make_interval(hours => 24 * $1::int)
       order by status_at limit $2::int for update skip locked))
     returning 1
   )
   select count(*)::int as rows from gone`,
)
