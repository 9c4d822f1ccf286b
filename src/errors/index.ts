export { Failure, type FailureClass } from './failure.ts'
export {
  ConflictError,
  ForbiddenError,
  IdempotencyKeyReusedError,
  InvalidTransitionError,
  NotFoundError,
  UserError,
  ValidationError,
} from './user-error.ts'
