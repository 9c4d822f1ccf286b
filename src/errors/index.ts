export { Failure, type FailureClass } from './failure.ts'
export { dataWithoutSecrets, isSecretName, looksSecret, withoutSecrets } from './secrets.ts'
export {
  ConflictError,
  ForbiddenError,
  IdempotencyKeyReusedError,
  InvalidTransitionError,
  NotFoundError,
  UserError,
  ValidationError,
} from './user-error.ts'
