import type { DraftChangedError } from '../../domain/organisation/index.ts'
import {
  ConflictError,
  ForbiddenError,
  IdempotencyKeyReusedError,
  InvalidTransitionError,
  NotFoundError,
  type UserError,
  ValidationError,
} from '../../errors/index.ts'
import { builder } from '../builder.ts'

/** What every member of a mutation's union shares that is not its success. */
export const UserErrorInterface = builder.interfaceRef<UserError>('UserError').implement({
  description:
    'An outcome that the caller can act on. Select `... on UserError` in every mutation, so that a member added ' +
    'later does not go unseen.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'What happened and what to do next, in English.' }),
    code: t.exposeString('code', { description: 'Stable code to decide by, such as `orgmodel.version.busy`.' }),
    path: t.expose('path', {
      type: ['String'],
      nullable: true,
      description: 'The field of the `input` that it is about; null when it is about no single field.',
    }),
  }),
})

const plain = (type: typeof ValidationError | typeof NotFoundError, name: string, description: string) =>
  builder.objectType(type, { name, description, interfaces: [UserErrorInterface] })

plain(ValidationError, 'ValidationError', 'The input has the right form but breaks a rule of its own.')
plain(NotFoundError, 'NotFoundError', 'What was asked for does not exist for the caller.')

builder.objectType(ConflictError, {
  name: 'ConflictError',
  description: 'Somebody was faster, or the present state does not allow it.',
  interfaces: [UserErrorInterface],
  fields: (t) => ({
    currentVersion: t.int({
      nullable: true,
      description:
        'What the thing has now, for an `expectedVersion`, `expectedRevision` or `expectedContentRevision` that was ' +
        'another; else null.',
      // The plugin shows an error as the class that was declared, so `instanceof` no longer knows a subclass.
      resolve: (error) => (error as Partial<DraftChangedError>).contentRevision ?? error.currentVersion,
    }),
  }),
})

builder.objectType(InvalidTransitionError, {
  name: 'InvalidTransitionError',
  description: 'The thing is in a status from which it cannot go there.',
  interfaces: [UserErrorInterface],
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The status it is in.' }),
    to: t.exposeString('to', { description: 'The status asked for.' }),
    allowed: t.expose('allowed', { type: ['String'], description: 'The statuses it can go to now.' }),
  }),
})

builder.objectType(IdempotencyKeyReusedError, {
  name: 'IdempotencyKeyReusedError',
  description: 'The idempotency key came with another input before. A new request needs a new key.',
  interfaces: [UserErrorInterface],
})

builder.objectType(ForbiddenError, {
  name: 'ForbiddenError',
  description: 'The caller’s roles do not give the permission for this.',
  interfaces: [UserErrorInterface],
})
