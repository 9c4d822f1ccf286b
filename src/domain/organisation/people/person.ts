/** Somebody the model describes, known to Regie by a key of the outside world only. */
export interface Person {
  readonly id: string
  readonly externalId: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** One thing that a person holds of an attribute; exactly one of the last five is set. */
export interface PersonValue {
  readonly attributeId: string
  /** 0, but for an attribute of several values. */
  readonly item: number
  readonly valueId: string | null
  readonly text: string | null
  readonly number: number | null
  /** `2026-11-30`. */
  readonly date: string | null
  readonly bool: boolean | null
}

/** What a list of people is ordered by: the order in which they came. */
export interface PersonKey {
  readonly id: string
}

export const personKey = ({ id }: PersonKey): PersonKey => ({ id })
