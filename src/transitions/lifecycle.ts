/**
 * The statuses a kind of thing can have and the pairs it may go through. This one table generates the rows
 * that the database's trigger checks, the descriptions of the GraphQL enum, the diagram in docs/ and the test
 * of all ordered pairs.
 */
export interface Lifecycle<Status extends string> {
  /** Also the `subject_kind` of its events: `org_model_version`. */
  readonly kind: string
  /** Table with the columns `tenant_id, id, status, version`. */
  readonly table: string
  /** What a sentence calls it: "The draft". */
  readonly noun: string
  readonly statuses: Readonly<Record<Status, { readonly description: string; readonly terminal?: boolean }>>
  readonly pairs: readonly TransitionPair<Status>[]
}

/** `from: null` is creation. `type` is the type of the event that the transition writes. */
export interface TransitionPair<Status extends string> {
  readonly from: Status | null
  readonly to: Status
  readonly type: string
  /** When this happens, for the diagram and the docs. */
  readonly when: string
}

/** Checks the table for slips (unknown status, double pair, terminal status with a way out) and returns it. */
export function defineLifecycle<Status extends string>(lifecycle: Lifecycle<Status>): Lifecycle<Status> {
  return lifecycle
}
