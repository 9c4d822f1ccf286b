import type { TenantPrisma } from '../../../database/index.ts'
import { type ConditionTree, problemsOf, sentenceOf } from '../../conditions/index.ts'
import { fieldsOf, type ModelSnapshot } from '../model/model.ts'

/** A saved filter over people. */
export interface Persona {
  readonly id: string
  readonly name: string
  readonly description: string | null
  /** DYNAMIC: whoever the filter selects. STATIC: its members, whatever the filter says. */
  readonly kind: PersonaKind
  readonly filter: ConditionTree
  /** Rises by one with every write; what a write expects as `expectedRevision`. */
  readonly revision: number
  /** INVALID: the filter refers to something that the active model lacks, so nobody can be selected by it. */
  readonly validity: PersonaValidity
  readonly invalidReason: string | null
  readonly archivedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type PersonaKind = 'DYNAMIC' | 'STATIC'
export type PersonaValidity = 'VALID' | 'INVALID'

type Row = NonNullable<Awaited<ReturnType<TenantPrisma['persona']['findFirst']>>>

export const personaOf = ({ tenantId: _, ...row }: Row): Persona => ({
  ...row,
  kind: row.kind as PersonaKind,
  validity: row.validity as PersonaValidity,
  // Written by this domain only, and parsed before.
  filter: row.filter as unknown as ConditionTree,
})

/** Whether the filter can be evaluated in the model, and if not, why. A STATIC persona needs no filter. */
export function validityOf(
  { kind, filter }: Pick<Persona, 'kind' | 'filter'>,
  model: ModelSnapshot,
): Pick<Persona, 'validity' | 'invalidReason'> {
  const problems = kind === 'STATIC' ? [] : problemsOf(filter, fieldsOf(model))
  return problems.length === 0
    ? { validity: 'VALID', invalidReason: null }
    : { validity: 'INVALID', invalidReason: sentenceOf(problems).slice(0, 2_000) }
}
