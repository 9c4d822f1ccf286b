import type { TenantPrisma, Tx } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { type Page, pageOf, type PageRequest, rowsToRead } from '../../page.ts'
import { canonicalId, canonicalIds } from '../ids.ts'
import { type Persona, personaOf, type PersonaValidity } from './persona.ts'

export async function personaById(call: Call, id: string): Promise<Persona | null> {
  return (await personasByIds(call, [id])).get(canonicalId(id) ?? id) ?? null
}

/** Those of the personas that exist, by id. */
export async function personasByIds(call: Call, ids: readonly string[]): Promise<ReadonlyMap<string, Persona>> {
  const rows = await (await personas(call)).findMany({ where: { id: { in: canonicalIds(ids) } } })
  return new Map(rows.map((row) => [row.id, personaOf(row)]))
}

export interface PersonaFilter {
  /** Left out: both. */
  readonly archived?: boolean
  readonly validity?: PersonaValidity
  readonly nameContains?: string
}

export interface PersonaKey {
  readonly name: string
  readonly id: string
}

export const personaKey = ({ name, id }: PersonaKey): PersonaKey => ({ name, id })

/** The tenant's personas by name. */
export async function listPersonas(
  call: Call,
  request: PersonaFilter & PageRequest<PersonaKey>,
): Promise<Page<Persona>> {
  const { after, before } = request
  const order = before === undefined ? 'asc' : 'desc'
  const rows = await (await personas(call)).findMany({
    where: {
      AND: [
        matches(request),
        after === undefined ? {} : beyond(after, 'gt'),
        before === undefined ? {} : beyond(before, 'lt'),
      ],
    },
    orderBy: [{ name: order }, { id: order }],
    take: rowsToRead(request),
  })
  return pageOf(request, rows.map(personaOf))
}

/** How many there are. */
export async function countPersonas(call: Call, filter: PersonaFilter): Promise<number> {
  return (await personas(call)).count({ where: matches(filter) })
}

/** All personas in use, in ascending order of id: what an evaluation judges. */
export async function personasInUse(tx: Tx): Promise<Persona[]> {
  const rows = await tx.prisma.persona.findMany({ where: { archivedAt: null }, orderBy: { id: 'asc' } })
  return rows.map(personaOf)
}

const matches = ({ archived, validity, nameContains }: PersonaFilter) => ({
  ...(archived === undefined ? {} : { archivedAt: archived ? { not: null } : null }),
  ...(validity === undefined ? {} : { validity }),
  ...(nameContains === undefined ? {} : { name: { contains: nameContains, mode: 'insensitive' as const } }),
})

// The id beside the name, since two personas may be called the same.
const beyond = ({ name, id }: PersonaKey, past: 'gt' | 'lt') => ({
  OR: [{ name: { [past]: name } }, { name, id: { [past]: id } }],
})

async function personas(call: Call): Promise<TenantPrisma['persona']> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  return (await call.database.forTenant(call.viewer.tenantId)).persona
}
