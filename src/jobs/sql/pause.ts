import { statement } from '../../database/index.ts'

/** `changed`: it was this statement that did it. `paused`: how it was before. */
export interface PauseRow {
  readonly changed: boolean
  readonly pausedBy: string | null
  readonly pausedReason: string | null
}

/** Pauses a type ($1) for the operator $2 because of $3; with $2 null resumes it. No row: nobody declared the type. */
export const PAUSE_TYPE = statement<PauseRow>(
  'jobs.pause_type',
  `with found as materialized (
    select type, paused_at, paused_by, paused_reason from job_type where type = $1 for update
  ), written as (
    update job_type set paused_at = case when $2::text is null then null else clock_timestamp() end, paused_by = $2,
      paused_reason = $3
    from found where job_type.type = found.type and (found.paused_at is null) = ($2::text is not null)
  )
  select (paused_at is null) = ($2::text is not null) as changed, paused_by as "pausedBy",
    paused_reason as "pausedReason" from found`,
)
