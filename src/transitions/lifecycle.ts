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

/**
 * Checks the table for slips and returns it: unknown status, double pair, terminal status with a way out,
 * no way in, a status nothing leads to. Throws an Error at start, so that a slip never reaches a row.
 */
export function defineLifecycle<Status extends string>(lifecycle: Lifecycle<Status>): Lifecycle<Status> {
  const slips = slipsOf(lifecycle)
  if (slips.length > 0) throw new Error(`The lifecycle "${lifecycle.kind}" is not sound: ${slips.join(' ')}`)
  return lifecycle
}

/** The pair `from → to`, or undefined when the lifecycle does not allow it. */
export function pairOf<Status extends string>(
  lifecycle: Lifecycle<Status>,
  from: Status | null,
  to: Status,
): TransitionPair<Status> | undefined {
  return lifecycle.pairs.find((pair) => pair.from === from && pair.to === to)
}

/** The statuses a thing may go to next. */
export function waysOut<Status extends string>(lifecycle: Lifecycle<Status>, from: Status | null): Status[] {
  return lifecycle.pairs.filter((pair) => pair.from === from).map((pair) => pair.to)
}

/** Every ordered pair of statuses, creation included, and whether it is allowed: what an exhaustive test walks. */
export function allOrderedPairs<Status extends string>(
  lifecycle: Lifecycle<Status>,
): { from: Status | null; to: Status; allowed: boolean }[] {
  const statuses = Object.keys(lifecycle.statuses) as Status[]
  return [null, ...statuses].flatMap((from) =>
    statuses.map((to) => ({ from, to, allowed: pairOf(lifecycle, from, to) !== undefined })),
  )
}

function slipsOf<Status extends string>({ kind, table, statuses, pairs }: Lifecycle<Status>): string[] {
  const slips: string[] = []
  // Both names are written into SQL text.
  for (const name of [kind, table]) {
    if (!/^[a-z][a-z0-9_]*$/.test(name)) slips.push(`"${name}" is not a name in snake_case.`)
  }
  const seen = new Set<string>()
  const reached = new Set<string>()
  for (const { from, to } of pairs) {
    const name = `${from ?? '(creation)'} → ${to}`
    if (seen.has(name)) slips.push(`${name} stands twice.`)
    seen.add(name)
    for (const status of [from, to]) {
      if (status !== null && !Object.hasOwn(statuses, status)) slips.push(`${name} names an unknown status.`)
    }
    if (from !== null && statuses[from]?.terminal === true) slips.push(`${from} is terminal but has a way out.`)
    if (from !== to) reached.add(to)
  }
  if (!pairs.some((pair) => pair.from === null)) slips.push('Nothing creates it.')
  for (const status of Object.keys(statuses) as Status[]) {
    if (!reached.has(status)) slips.push(`No pair leads to ${status}.`)
    if (statuses[status].terminal !== true && !pairs.some((pair) => pair.from === status))
      slips.push(`${status} has no way out and is not called terminal.`)
  }
  return slips
}
