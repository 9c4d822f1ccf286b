import { filterReferences, type NewReference, type ReferenceSource } from '../references/reference.ts'
import type { ExtractedSource, ReferenceExtractor } from '../references/rebuild.ts'
import { type Persona, personaOf } from './persona.ts'

/** Everything in a persona that refers to the model: the one place that knows where that is. */
export const extractPersona = (persona: Persona): ExtractedSource => ({
  source: sourceOf(persona),
  references: referencesOfPersona(persona),
})

export const personaExtractor: ReferenceExtractor = {
  sourceKind: 'PERSONA',
  async extractAll(tx) {
    const rows = await tx.prisma.persona.findMany({ orderBy: { id: 'asc' } })
    return rows.map(personaOf).map(extractPersona)
  },
}

const sourceOf = ({ id, name, archivedAt }: Persona): ReferenceSource => ({
  sourceKind: 'PERSONA',
  sourceId: id,
  sourceLabel: name,
  sourceState: archivedAt === null ? 'ACTIVE' : 'INACTIVE',
})

// Who belongs to a STATIC persona no longer depends on the model.
const referencesOfPersona = ({ kind, filter }: Persona): NewReference[] =>
  kind === 'STATIC' ? [] : filterReferences(filter, '/filter')
