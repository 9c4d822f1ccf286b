export { addressOf, admit, membershipOf, revokedAmong, revokeMembership, type Membership } from './membership.ts'
export { may, mustBeAllowed, OPERATOR, ROLES } from './permission.ts'
export { createTenant, type OnTenantCreated, type OperatorCall, type Tenant } from './tenant.ts'
export {
  KeysUnavailable,
  makeTokenVerifier,
  TokenRefused,
  type Claims,
  type TokenRules,
  type VerifyToken,
} from './token.ts'
export type { Identity, Operator, Viewer } from './viewer.ts'
