/** What is written to the log: one thing that happened to one subject. */
export interface NewEvent {
  readonly tenantId: string
  /** The kind of thing, in snake_case: `org_model_version`. */
  readonly subjectKind: string
  readonly subjectId: string
  /** The subject's version after the event; the feed's per-subject order. Starts at 1, rises by 1. */
  readonly sequence: number
  /** What happened, dotted: `orgmodel.resolution.completed`. */
  readonly type: string
  readonly from: string | null
  readonly to: string | null
  /** A stable code that says why, when the type alone does not. */
  readonly reason: string | null
  /** What a subscriber needs to show the change without a second read; free of personal data. */
  readonly data: Readonly<Record<string, unknown>>
  /** `subject` of the viewer, or `system`. */
  readonly actor: string
  readonly correlationId: string
}

/** Where an event stands in the log. Ordered by epoch, xid, id; total, and final below the watermark. */
export interface LogPosition {
  readonly epoch: number
  /** The writing transaction, as PostgreSQL's xid8. */
  readonly xid: bigint
  readonly id: bigint
}

/** An event as it is read from the log. */
export interface LogEvent extends NewEvent {
  readonly position: LogPosition
  readonly recordedAt: Date
}
