import type { Tx } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { canonicalId } from '../ids.ts'
import { type Persona, personaOf } from './persona.ts'

/** The persona; null when there is none. */
export async function personaById(call: Call, id: string): Promise<Persona | null> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  const known = canonicalId(id)
  const { persona } = await call.database.forTenant(call.viewer.tenantId)
  const row = known === null ? null : await persona.findFirst({ where: { id: known } })
  return row === null ? null : personaOf(row)
}

/** All personas in use, in ascending order of id: what an evaluation judges. */
export async function personasInUse(tx: Tx): Promise<Persona[]> {
  const rows = await tx.prisma.persona.findMany({ where: { archivedAt: null }, orderBy: { id: 'asc' } })
  return rows.map(personaOf)
}
