import type { Database } from '../../database/index.ts'
import { ConflictError, NotFoundError } from '../../errors/index.ts'
import { PAUSE_TYPE } from '../sql/pause.ts'
import { appendTypeEvent } from '../types/operator-event.ts'
import { type By, checkedBy } from './by.ts'
import { recordAct, recordingRefusal } from './record.ts'

/** What a pause needs. */
export interface PauseParts {
  readonly database: Database
}

/**
 * Nothing of the type is claimed any more, in any process; what runs goes on. Audited, and said to whoever watches the
 * types.
 *
 * @throws NotFoundError for a type that no process has declared
 * @throws ConflictError `job.type_paused` when it is paused already
 * @throws ValidationError when the reason is blank or too long
 */
export async function pauseType({ database }: PauseParts, type: string, by: By): Promise<{ actId: string }> {
  return changeType(database, type, checkedBy(by), true)
}

/** @throws NotFoundError, ValidationError, ConflictError `job.type_not_paused` */
export async function resumeType({ database }: PauseParts, type: string, by: By): Promise<{ actId: string }> {
  return changeType(database, type, checkedBy(by), false)
}

function changeType(database: Database, type: string, by: By, pause: boolean): Promise<{ actId: string }> {
  const act = pause ? 'PAUSE_TYPE' : 'RESUME_TYPE'
  const change = () =>
    database.systemTransaction(async (tx) => {
      const [was] = await tx.run(PAUSE_TYPE, pause ? [type, by.actor, by.reason] : [type, null, null])
      if (was === undefined) throw new NotFoundError('The job type', { code: 'job.type_not_found' })
      if (!was.changed)
        throw pause
          ? new ConflictError(`The type is paused already, by ${was.pausedBy}.`, { code: 'job.type_paused' })
          : new ConflictError('The type is not paused.', { code: 'job.type_not_paused' })
      const event = pause ? 'job.type.paused' : 'job.type.resumed'
      await appendTypeEvent(tx, { type, event, ...by })
      const before = { paused: !pause, by: was.pausedBy, reason: was.pausedReason }
      return recordAct(tx, { ...by, act, type, before, after: { paused: pause } })
    })
  return recordingRefusal(database, { ...by, act, type }, change)
}
