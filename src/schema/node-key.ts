import type { ApiContext, ReadPermission } from './context.ts'

/**
 * The unique key of a tenant's row, for whoever may read such rows (R10: by its id as by any other road).
 * @throws FORBIDDEN, UNAUTHENTICATED
 */
export function keyOf(id: string, context: ApiContext, permission: ReadPermission) {
  context.rows(permission)
  return { tenantId_id: { tenantId: context.call().viewer.tenantId, id } }
}
