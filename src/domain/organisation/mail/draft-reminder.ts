import { z } from 'zod'
import { statement } from '../../../database/index.ts'
import {
  batchDone,
  type CandidateOutcome,
  defineJob,
  defineSchedule,
  eachCandidate,
  type JobContext,
  type JobDefinition,
  notApplicable,
  type Schedule,
} from '../../../jobs/index.ts'
import { planMail } from '../../mail/index.ts'
import { draftReminderMail } from './draft-reminder-mail.ts'
import { idleDraft, TOUCHED } from './idle-draft.ts'

export interface DraftReminderOptions {
  /** Whole days without an edit after which the last editor is reminded, and again after as many more; 0: never (J79). */
  readonly days: number
  /** Language of the mail, as a BCP 47 tag. */
  readonly locale: string
}

const HOUR = 3_600_000

/** Drafts read at once. */
const PAGE = 500

/**
 * The check for drafts that nobody edits any more: one for all tenants, which finds them anew at each run, instead of
 * a job per draft and date (J55).
 */
export function draftReminder({ days, locale }: DraftReminderOptions): {
  readonly job: JobDefinition<Record<string, never>>
  /** None when nobody is to be reminded. */
  readonly schedules: readonly Schedule[]
} {
  const job = defineJob({
    type: 'orgmodel.draft_reminder',
    class: 'PERIODIC_CHECK',
    payload: z.strictObject({}),
    timeoutMs: 5 * 60_000,
    limits: { running: 1 },
    idempotency: 'It plans one mail per draft, content revision and number of the reminder, by key.',
    displayName: () => 'Reminders of drafts that nobody edits',
    async run(_payload, context) {
      if (days === 0) return notApplicable('orgmodel.draft_reminder.off')
      const result = await eachCandidate(
        context,
        candidates(context, days),
        ({ draftId }) => draftId,
        (candidate) => remind(context, candidate, { days, locale }),
      )
      return batchDone(result, context.correlationId)
    },
  })
  const hourly = defineSchedule({ name: job.type, job, payload: {}, everyMs: HOUR })
  return { job, schedules: days === 0 ? [] : [hourly] }
}

interface Candidate {
  readonly tenantId: string
  readonly draftId: string
}

async function* candidates(context: JobContext, days: number): AsyncGenerator<Candidate> {
  for (let after = NIL; ; ) {
    const page = await context.step((tx) => tx.run(CANDIDATES, [days, after, PAGE]))
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)!.draftId
  }
}

const NIL = '00000000-0000-0000-0000-000000000000'

/** In a transaction of its own, in which the draft is looked at again: it may have been edited since it was found. */
function remind(
  context: JobContext,
  { tenantId, draftId }: Candidate,
  { days, locale }: DraftReminderOptions,
): Promise<CandidateOutcome> {
  return context.stepFor(tenantId, async (tx) => {
    const draft = await idleDraft(tx, draftId)
    if (draft?.status !== 'DRAFT' || draft.idleDays < days) return 'SKIPPED'
    const { contentRevision, editor, idleDays } = draft
    const reminder = Math.floor(idleDays / days)
    const { created } = await planMail(tx, draftReminderMail, {
      about: draftId,
      recipient: editor,
      key: `${draftId}:${contentRevision}:${reminder}`,
      facts: { contentRevision },
      locale,
      correlationId: context.correlationId,
    })
    return created ? 'PROCESSED' : 'SKIPPED'
  })
}

// All tenants: at most one draft each, found through the index that says so.
const CANDIDATES = statement<Candidate>(
  'organisation.mail.idle_drafts',
  `select v.tenant_id::text as "tenantId", v.id::text as "draftId"
   from org_model_version v cross join ${TOUCHED}
   where v.status = 'DRAFT' and touched.at <= now() - make_interval(hours => 24 * $1::int) and v.id > $2::uuid
   order by v.id limit $3::int`,
)
