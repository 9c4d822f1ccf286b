/** The tenant of jobs that belong to the installation itself; in the API of this folder that is null. */
export const INSTALLATION = '00000000-0000-0000-0000-000000000000'

export const toTenantColumn = (tenantId: string | null): string => tenantId ?? INSTALLATION

export const fromTenantColumn = (tenantId: string): string | null => (tenantId === INSTALLATION ? null : tenantId)
