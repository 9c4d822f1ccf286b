import type { Statement } from '../../../database/index.ts'
import { NotFoundError } from '../../../errors/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { Parameters, problemsOf, selectionSql } from '../../conditions/index.ts'
import { type Page, pageOf, type PageRequest, rowsToRead } from '../../page.ts'
import { canonicalId } from '../ids.ts'
import { loadModel } from '../model/load.ts'
import { fieldsOf, type ModelSnapshot } from '../model/model.ts'
import type { Person, PersonKey } from '../people/person.ts'
import { STORED } from '../people/stored.ts'
import { type Reader, readerOf } from '../reader.ts'
import { activeVersion, versionById } from '../versions/read.ts'
import { PersonaInvalidError } from './errors.ts'
import type { Persona } from './persona.ts'
import { personaById } from './read.ts'

export interface PersonaAudienceRequest extends PageRequest<PersonKey> {
  readonly personaId: string
  /** The version of the model to judge by: what the draft would make of it. Default: the active one. */
  readonly versionId?: string
}

/** Who belongs to a persona: how many in all, and one page of them in the order in which they came. */
export interface PersonaAudience extends Page<Person> {
  readonly count: number
}

/** @throws NotFoundError, PersonaInvalidError: an invalid filter has no audience, not an empty one */
export async function personaAudience(call: Call, request: PersonaAudienceRequest): Promise<PersonaAudience> {
  mustBeAllowed(call.viewer, 'people.read')
  const persona = await personaById(call, request.personaId)
  if (persona === null) throw new NotFoundError('The persona', { path: ['personaId'] })
  const version =
    request.versionId === undefined ? await activeVersion(call) : await versionById(call, request.versionId)
  if (version === null) throw new NotFoundError('The version of the model', { path: ['versionId'] })
  const reader = readerOf(call)
  return readAudience(reader, persona, await loadModel(reader, version.id), request)
}

/** How many people belong to the persona, judged by the model. @throws PersonaInvalidError */
export async function audienceCount(reader: Reader, persona: Audience, model: ModelSnapshot): Promise<number> {
  const parameters = new Parameters(2)
  const ids = belongingSql(persona, model, parameters)
  const sql = unnamed<{ count: number }>(`select count(*)::int as count from (${ids}) audience`)
  const [row] = await reader.query(sql, parameters.values)
  return row?.count ?? 0
}

/** What of a persona says who belongs to it. */
export type Audience = Pick<Persona, 'id' | 'name' | 'kind' | 'filter'>

async function readAudience(
  reader: Reader,
  persona: Audience,
  model: ModelSnapshot,
  request: PageRequest<PersonKey>,
): Promise<PersonaAudience> {
  const backwards = request.before !== undefined
  const parameters = new Parameters(2)
  const ids = belongingSql(persona, model, parameters)
  const from = parameters.add(canonicalId((request.before ?? request.after)?.id ?? ''))
  const limit = parameters.add(rowsToRead(request))
  // Count and page out of one snapshot, or a page could show people that the count does not know.
  const rows = await reader.query(
    unnamed<Person & { count: number }>(
      `with audience as materialized (${ids}), page as (
         select a.id from audience a
         where ${from}::uuid is null or a.id ${backwards ? '<' : '>'} ${from}::uuid
         order by a.id ${backwards ? 'desc' : 'asc'} limit ${limit}::int
       )
       select c.count, p.id::text, p.external_id as "externalId", p.created_at as "createdAt", p.updated_at as "updatedAt"
       from (select count(*)::int as count from audience) c
       left join (page join person p on p.tenant_id = $1::uuid and p.id = page.id) on true
       order by p.id ${backwards ? 'desc' : 'asc'}`,
    ),
    parameters.values,
  )
  const people = rows.filter(({ id }) => id !== null).map(({ count: _, ...person }) => person)
  return { count: rows[0]?.count ?? 0, ...pageOf(request, people) }
}

/** A query of the ids of those who belong. */
function belongingSql({ kind, filter, ...persona }: Audience, model: ModelSnapshot, parameters: Parameters): string {
  if (kind === 'STATIC') {
    const own = parameters.add(persona.id)
    return `select person_id as id from persona_member where tenant_id = $1::uuid and persona_id = ${own}::uuid`
  }
  const fields = fieldsOf(model)
  const problems = problemsOf(filter, fields)
  if (problems.length > 0) throw new PersonaInvalidError(persona, problems)
  return selectionSql(filter, fields, STORED, parameters)
}

// Every filter is another text: a prepared statement for each would stay in every connection for good, and a plan
// that knows the values of this filter is worth more than one that need not be made.
const unnamed = <Row>(text: string): Statement<Row> => ({ name: '', text })
