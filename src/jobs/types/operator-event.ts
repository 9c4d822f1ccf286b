import { statement, type Queryable } from '../../database/index.ts'
import { appendEvents } from '../../events/index.ts'
import { INSTALLATION } from '../tenant.ts'

/** Something that happened to a job type, for operators. */
export interface TypeEvent {
  /** The job type: `mail.delivery`. It must have been declared. */
  readonly type: string
  /** What happened to it: `job.breaker.opened`, `job.type.paused`. */
  readonly event: string
  /** What a subscriber shows; `type` is added. */
  readonly data?: Readonly<Record<string, unknown>>
  /** `system`, or the operator. */
  readonly actor: string
  readonly reason: string | null
  readonly correlationId: string
}

/**
 * Appends one event about a job type to the log, under the installation's tenant: it becomes visible with the
 * caller's transaction. Takes the lock of the type's row until then, so that its events are numbered in the order in
 * which they are committed. Answers false, having written nothing, for a type that no process has declared.
 */
export async function appendTypeEvent(tx: Queryable, happened: TypeEvent): Promise<boolean> {
  const [subject] = await tx.run(NEXT_VERSION, [happened.type])
  if (subject === undefined) return false
  await appendEvents(tx, [
    {
      tenantId: INSTALLATION,
      subjectKind: 'job_type',
      subjectId: subject.id,
      sequence: subject.version,
      type: happened.event,
      from: null,
      to: null,
      reason: happened.reason,
      data: { ...happened.data, type: happened.type },
      actor: happened.actor,
      correlationId: happened.correlationId,
    },
  ])
  return true
}

const NEXT_VERSION = statement<{ readonly id: string; readonly version: number }>(
  'jobs.type_next_version',
  `update job_type set version = version + 1 where type = $1 returning id::text, version`,
)
