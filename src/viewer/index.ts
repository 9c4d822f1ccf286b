export { may, mustBeAllowed, ROLES } from './permission.ts'
export type { Viewer } from './viewer.ts'
