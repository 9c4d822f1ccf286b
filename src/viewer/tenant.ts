import { v7 as uuidv7 } from 'uuid'
import { isStorable, sqlState, type Database, type Tx } from '../database/index.ts'
import { ConflictError, ValidationError } from '../errors/index.ts'
import { mustBeAllowed } from './permission.ts'
import type { Operator } from './viewer.ts'

/** What a function that acts on the installation takes first. */
export interface OperatorCall {
  readonly operator: Operator
  readonly database: Database
}

export interface Tenant {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
}

/** What a domain does in the transaction that makes a tenant (`tx.tenantId`): its first rows. */
export type OnTenantCreated = (
  tx: Tx,
  act: { readonly actor: string; readonly correlationId: string },
) => Promise<unknown>

const LONGEST_NAME = 200

/**
 * Makes a tenant together with what each domain needs in it from the first moment, in one transaction.
 * `hooks` come from the composition, since this folder knows no domain.
 * @throws ForbiddenError, ValidationError, ConflictError (`tenant.name_taken`)
 */
export async function createTenant(
  call: OperatorCall,
  input: { readonly name: string },
  hooks: readonly OnTenantCreated[],
): Promise<Tenant> {
  mustBeAllowed(call.operator, 'tenant.create')
  const name = input.name.trim()
  if (name.length === 0 || name.length > LONGEST_NAME || !isStorable(name))
    throw new ValidationError(`A tenant’s name has 1 to ${LONGEST_NAME} characters.`, { path: ['name'] })
  const act = { actor: call.operator.subject, correlationId: call.operator.correlationId }
  try {
    return await call.database.transaction(uuidv7(), async (tx) => {
      const tenant = await tx.prisma.tenant.create({ data: { id: tx.tenantId, name } })
      for (const hook of hooks) await hook(tx, act)
      return tenant
    })
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error
    throw new ConflictError(`There is a tenant called "${name}" already.`, {
      code: 'tenant.name_taken',
      path: ['name'],
    })
  }
}

const UNIQUE_VIOLATION = '23505'
