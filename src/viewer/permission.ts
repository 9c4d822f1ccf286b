import { ForbiddenError } from '../errors/index.ts'
import type { Viewer } from './viewer.ts'

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

export const may = (roles: readonly string[], permission: string): boolean =>
  roles.some((role) => ROLES[role]?.includes(permission) ?? false)

/** @throws ForbiddenError */
export function mustBeAllowed(viewer: Viewer, permission: string): void {
  if (!may(viewer.roles, permission)) throw new ForbiddenError(permission)
}
