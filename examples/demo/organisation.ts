import {
  ActivateOrgModelDraftDocument,
  CreatePersonaDocument,
  ImportOrgModelDocument,
  ImportPeopleDocument,
  PersonaAudienceDocument,
  unwrap,
  type ModelFieldsFragment,
  type PersonaFieldsFragment,
  type PersonaFilterInput,
  type RegieClient,
} from '../../client/src/index.ts'
import { keyOf, NUMBERS, SELECTS, valuesOf, type Employee } from './employees.ts'
import { PERSONAS, type Wish } from './personas.ts'
import { progress } from './report.ts'

/** Finds the ids that the server gave to what the file calls by name. */
export class Model {
  readonly #version: ModelFieldsFragment

  constructor(version: ModelFieldsFragment) {
    this.#version = version
  }

  attribute(name: string): string {
    return this.#attribute(name).uuid
  }

  value(attribute: string, label: string): string {
    const value = this.#attribute(attribute).values.nodes.find((candidate) => candidate.label === label)
    if (value === undefined) throw new Error(`The model has no ${attribute} "${label}".`)
    return value.uuid
  }

  #attribute(name: string) {
    const attribute = this.#version.attributes.nodes.find((candidate) => candidate.key === keyOf(name))
    if (attribute === undefined) throw new Error(`The model has no attribute ${name}.`)
    return attribute
  }
}

/** The model of the file as the tenant's second version: the six selects with their values, and the numbers. */
export async function importModel(client: RegieClient, employees: readonly Employee[]): Promise<Model> {
  const selects = SELECTS.map((column) => ({
    key: keyOf(column),
    label: column,
    dataType: 'SINGLE_SELECT' as const,
    values: valuesOf(employees, column).map((label) => ({ key: keyOf(label), label })),
  }))
  const numbers = NUMBERS.map((column) => ({ key: keyOf(column), label: column, dataType: 'NUMBER' as const }))
  const input = { name: 'The model of the file', attributes: [...selects, ...numbers] }
  const { draft } = unwrap((await client.mutate(ImportOrgModelDocument, { input })).importOrgModel)
  const activation = { expectedContentRevision: draft.contentRevision }
  unwrap((await client.mutate(ActivateOrgModelDraftDocument, { input: activation })).activateOrgModelDraft)
  return new Model(draft)
}

// A request may be 256 KiB; a person takes some 350 bytes.
const PEOPLE_PER_CALL = 490

/** All people of the file, by key; returns how many were new. */
export async function importPeople(client: RegieClient, employees: readonly Employee[]): Promise<number> {
  let created = 0
  for (let from = 0; from < employees.length; from += PEOPLE_PER_CALL) {
    const people = employees.slice(from, from + PEOPLE_PER_CALL).map((employee) => ({
      externalId: employee.EmployeeNumber,
      values: Object.fromEntries([
        ...SELECTS.map((column) => [keyOf(column), keyOf(employee[column])]),
        ...NUMBERS.map((column) => [keyOf(column), Number(employee[column])]),
      ]) as Record<string, string | number>,
    }))
    created += unwrap((await client.mutate(ImportPeopleDocument, { input: { people } })).importPeople).createdCount
    progress(`${created} of ${employees.length} people`)
  }
  return created
}

/** The six personas, by name. */
export async function createPersonas(
  client: RegieClient,
  model: Model,
): Promise<ReadonlyMap<string, PersonaFieldsFragment>> {
  const personas = new Map<string, PersonaFieldsFragment>()
  for (const { name, filter } of PERSONAS) {
    const input = { name, filter: filterOf(model, filter) }
    const { persona } = unwrap((await client.mutate(CreatePersonaDocument, { input })).createPersona)
    personas.set(name, persona)
  }
  return personas
}

/** How many people a persona has under the active version, by name. */
export async function audiences(
  client: RegieClient,
  personas: ReadonlyMap<string, { readonly id: string }>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const [name, { id }] of personas) {
    const { personaAudience } = await client.query(PersonaAudienceDocument, { personaId: id, first: 1 })
    if (personaAudience?.totalCount == null) throw new Error(`The audience of "${name}" was not counted.`)
    counts.set(name, personaAudience.totalCount)
  }
  return counts
}

/** The filter in the words of the API. */
export function filterOf(model: Model, wish: Wish): PersonaFilterInput {
  if ('and' in wish) return { and: wish.and.map((item) => filterOf(model, item)) }
  if ('or' in wish) return { or: wish.or.map((item) => filterOf(model, item)) }
  if ('not' in wish) return { not: filterOf(model, wish.not) }
  const attributeId = model.attribute(wish.attribute)
  if ('in' in wish) {
    const valueIds = wish.in.map((label) => model.value(wish.attribute, label))
    return { condition: { attributeId, comparison: 'IN', valueIds } }
  }
  if ('gt' in wish) return { condition: { attributeId, comparison: 'GREATER_THAN', literal: { number: wish.gt } } }
  const [from, to] = wish.between
  return { condition: { attributeId, comparison: 'BETWEEN', range: { from: { number: from }, to: { number: to } } } }
}
