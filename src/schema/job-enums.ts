import type { FailureClass as Failure } from '../errors/index.ts'
import type { JobClass as Class, JobStatus as Status } from '../jobs/index.ts'
import { describedEnum } from './lifecycle-enum.ts'

export const JobStatus = describedEnum<Status>('JobStatus', 'Where a job is.', {
  SCHEDULED: 'It waits for its time, or was given back without having been tried.',
  PROCESSING: 'A worker is at it.',
  SUCCEEDED: 'It did its work, or there was nothing to do any more.',
  RETRY_SCHEDULED: 'An attempt failed; it waits for the next one.',
  FAILED: 'Given up after its last attempt, or for good.',
  CANCELLED: 'Stopped before it was done.',
})

export const FailureClass = describedEnum<Failure>('FailureClass', 'Why an attempt failed.', {
  PERMANENT: 'Trying again does not help.',
  TRANSIENT: 'It may work next time.',
  THROTTLED: 'The other side asked to wait.',
  TIMEOUT: 'It took too long.',
  LOST: 'The worker that was at it is gone.',
  CANCELLED: 'It was stopped.',
})

export const JobClass = describedEnum<Class>('JobClass', 'The kind of job: how often and how soon it may be tried.', {
  PERIODIC_CHECK: 'Finds and handles candidates at an interval; what one run leaves, the next one finds.',
  MAINTENANCE: 'Technical upkeep.',
  FOLLOW_UP: 'Follows a change and may come later.',
  DELAYED: 'Once, at a planned moment.',
  MAIL_DELIVERY: 'Sends mail.',
  RECOVERY: 'An explicit repair, tried once.',
  READ_MODEL: 'Rebuilds what is derived from other data.',
})
