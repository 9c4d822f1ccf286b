import { statement } from '../../../database/index.ts'
import type { Reader } from '../reader.ts'
import type { ResolutionStatus } from './lifecycle.ts'

/** A resolution that waits for its job or is being carried out. */
export interface InFlight {
  readonly id: string
  readonly issueKey: string
  readonly jobId: string
  readonly submissionNo: number
  readonly status: ResolutionStatus
}

export const resolutionsInFlight = (reader: Reader, draftVersionId: string): Promise<InFlight[]> =>
  reader.query(IN_FLIGHT, [draftVersionId])

const IN_FLIGHT = statement<InFlight>(
  'organisation.resolutions_in_flight',
  `select id::text, issue_key as "issueKey", job_id as "jobId", submission_no as "submissionNo", status
   from org_model_draft_resolution
   where tenant_id = $1::uuid and draft_version_id = $2::uuid and status in ('PENDING', 'PROCESSING')
   order by id`,
)
