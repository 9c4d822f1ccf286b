import { isStorable } from '../../../database/index.ts'
import { UserError } from '../../../errors/index.ts'
import { isDate } from '../../conditions/index.ts'
import { isChoice, type ModelAttribute, type ModelSnapshot } from '../model/model.ts'
import { canonicalKey } from '../versions/keys.ts'
import type { PersonValue } from './person.ts'

/** A person from outside. */
export interface PersonInput {
  readonly externalId: string
  /**
   * By the attribute's key: a text, number or boolean; the key of a value, or a list of such keys for an attribute
   * of several; null to hold nothing any more. Attributes that are not named stay as they are.
   */
  readonly values: Readonly<Record<string, unknown>>
}

/** A person whose keys have been found in the model. */
export interface ResolvedPerson {
  readonly externalId: string
  /** All attributes named, also those that are to hold nothing. */
  readonly attributeIds: readonly string[]
  readonly values: readonly PersonValue[]
}

/** One thing that is wrong with one of the people. Says nothing that is personal but what the caller sent. */
export interface PersonProblem {
  /** Which of the people, from 0. */
  readonly index: number
  readonly path: readonly string[]
  readonly code: string
  readonly message: string
}

/** Some of the people cannot be written; none was. */
export class PeopleInvalidError extends UserError {
  readonly code = 'people.invalid'
  readonly items: readonly PersonProblem[]

  constructor(items: readonly PersonProblem[]) {
    const [first] = items
    super(
      `${items.length} ${items.length === 1 ? 'problem' : 'problems'} in the people given, so none was written.` +
        (first === undefined ? '' : ` First: ${first.message}`),
      first === undefined ? null : ['people', String(first.index), ...first.path],
    )
    this.items = items
  }
}

const LONGEST_EXTERNAL_ID = 200
const LONGEST_TEXT = 4_000
const MOST_ITEMS = 100

/**
 * Finds the keys in the model.
 * @throws PeopleInvalidError with everything that is wrong, by index
 */
export function resolvePeople(model: ModelSnapshot, people: readonly PersonInput[]): ResolvedPerson[] {
  const attributes = new Map([...model.attributes.values()].map((attribute) => [attribute.key, lookUp(attribute)]))
  const problems: PersonProblem[] = []
  const seen = new Map<string, number>()
  const resolved = people.map((person, index): ResolvedPerson => {
    const problem = (path: readonly string[], code: string, message: string) =>
      void problems.push({ index, path, code, message })
    const externalId = person.externalId.trim()
    if (externalId === '' || externalId.length > LONGEST_EXTERNAL_ID || !isStorable(externalId)) {
      problem(
        ['externalId'],
        'people.external_id_invalid',
        `An external id has 1 to ${LONGEST_EXTERNAL_ID} characters.`,
      )
    }
    const twin = seen.get(externalId)
    if (twin !== undefined) {
      problem(['externalId'], 'people.duplicate_in_batch', `The same person stands at place ${twin} already.`)
    }
    seen.set(externalId, index)
    const attributeIds: string[] = []
    const values: PersonValue[] = []
    for (const [key, given] of Object.entries(person.values)) {
      const attribute = attributes.get(key)
      if (attribute === undefined) {
        problem(['values', key], 'people.attribute_unknown', `The active model has no attribute with the key "${key}".`)
        continue
      }
      attributeIds.push(attribute.id)
      const read = attribute.read(given)
      if (typeof read === 'string') problem(['values', key], 'people.value_invalid', `"${key}" ${read}`)
      else values.push(...read)
    }
    return { externalId, attributeIds, values }
  })
  if (problems.length > 0) throw new PeopleInvalidError(problems)
  return resolved
}

interface LookUp {
  readonly id: string
  /** What is to be held, or what is wrong, as the rest of a sentence. */
  readonly read: (given: unknown) => readonly PersonValue[] | string
}

function lookUp(attribute: ModelAttribute): LookUp {
  const { id, dataType } = attribute
  const held = (value: Partial<PersonValue>, item = 0): PersonValue => ({
    attributeId: id,
    item,
    valueId: null,
    text: null,
    number: null,
    date: null,
    bool: null,
    ...value,
  })
  const some = (read: (given: unknown) => readonly PersonValue[] | string): LookUp => ({
    id,
    read: (given) => (given === null || given === undefined ? [] : read(given)),
  })
  if (isChoice(dataType)) return some(readChoice(attribute, held))
  switch (dataType) {
    case 'NUMBER':
      return some((given) =>
        typeof given === 'number' && Number.isFinite(given) ? [held({ number: given })] : 'needs a number.',
      )
    case 'BOOLEAN':
      return some((given) => (typeof given === 'boolean' ? [held({ bool: given })] : 'needs true or false.'))
    case 'DATE':
      return some((given) =>
        typeof given === 'string' && isDate(given) ? [held({ date: given })] : 'needs a date such as "2026-11-30".',
      )
    default:
      return some((given) =>
        typeof given === 'string' && given !== '' && given.length <= LONGEST_TEXT && isStorable(given)
          ? [held({ text: given })]
          : `needs a text of 1 to ${LONGEST_TEXT} characters.`,
      )
  }
}

function readChoice(
  { dataType, values }: ModelAttribute,
  held: (value: Partial<PersonValue>, item?: number) => PersonValue,
): LookUp['read'] {
  const ids = new Map(values.map(({ key, id }) => [key, id]))
  return (given) => {
    const keys: readonly unknown[] = Array.isArray(given) ? given : [given]
    if (Array.isArray(given) && dataType !== 'MULTI_SELECT') return 'holds one value only, so give its key.'
    if (keys.length > MOST_ITEMS) return `holds at most ${MOST_ITEMS} values.`
    const found: string[] = []
    for (const key of keys) {
      const valueId = typeof key === 'string' ? ids.get(canonicalKey(key)) : undefined
      if (valueId === undefined) return `has no value with the key ${JSON.stringify(key)?.slice(0, 200)}.`
      if (found.includes(valueId)) return `is given the value ${JSON.stringify(key)} twice.`
      found.push(valueId)
    }
    return found.map((valueId, item) => held({ valueId }, item))
  }
}
