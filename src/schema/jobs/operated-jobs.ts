import type { Database } from '../../database/index.ts'
import { LogFeed, WatchedValue, type CursorCodec } from '../../events/index.ts'
import { JOB_EVENTS, JobRegistry, type AnyJobDefinition, type JobEvent } from '../../jobs/index.ts'
import { countJobs, type JobCount } from '../../jobs/operating/index.ts'

/** What a process has of the job engine for its operators, once for all of their operations. */
export interface OperatedJobs {
  /** The job types of this release: their domains are asked and told when an operator acts. */
  readonly registry: JobRegistry
  readonly events: LogFeed<JobEvent>
  readonly counts: WatchedValue<readonly JobCount[]>
}

const COUNT_EVERY_MS = 1_000

/** Reads nothing before somebody follows it. @throws Error when a definition cannot be used */
export function operatedJobs(
  database: Database,
  codec: CursorCodec,
  definitions: readonly AnyJobDefinition[],
): OperatedJobs {
  return {
    registry: new JobRegistry(definitions),
    events: new LogFeed({ database, codec, log: JOB_EVENTS }),
    counts: new WatchedValue({ everyMs: COUNT_EVERY_MS, read: () => countJobs(database) }),
  }
}
