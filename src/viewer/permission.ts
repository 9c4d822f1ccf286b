import { ForbiddenError } from '../errors/index.ts'

/** What a role allows. Permissions are named `area.verb`; `operator` acts on the installation, not in a tenant. */
export const ROLES: Readonly<Record<string, readonly string[]>> = {
  reader: ['orgmodel.read', 'people.read'],
  editor: ['orgmodel.read', 'people.read', 'orgmodel.edit', 'orgmodel.resolve', 'people.edit'],
  administrator: [
    'orgmodel.read',
    'people.read',
    'orgmodel.edit',
    'orgmodel.resolve',
    'people.edit',
    'orgmodel.activate',
    'orgmodel.approve',
    'orgmodel.rollback',
  ],
  operator: ['tenant.create', 'membership.revoke', 'jobs.read', 'jobs.operate'],
}

/** The role that makes a token an operator's. */
export const OPERATOR = 'operator'

// hasOwn: a token whose roles hold "constructor" must not find the object's own machinery.
export const may = (roles: readonly string[], permission: string): boolean =>
  roles.some((role) => Object.hasOwn(ROLES, role) && ROLES[role]!.includes(permission))

/** @throws ForbiddenError */
export function mustBeAllowed(who: { readonly roles: readonly string[] }, permission: string): void {
  if (!may(who.roles, permission)) throw new ForbiddenError(permission)
}
