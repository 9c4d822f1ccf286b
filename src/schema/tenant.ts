import { currentCursor } from '../events/index.ts'
import { createTenant, revokeMembership, type Tenant as TenantRow } from '../viewer/index.ts'
import { builder } from './builder.ts'
import type { ApiContext } from './context.ts'
import { decodeId, encodeId, idArg } from './id.ts'
import { outcomes, successOf, type Changed } from './mutation.ts'

const Tenant = builder.objectRef<TenantRow>('Tenant').implement({
  description: 'An organisation that uses this installation. Everything else belongs to exactly one.',
  fields: (t) => ({
    id: t.id({ description: 'Opaque id.', resolve: ({ id }) => encodeId('Tenant', id) }),
    uuid: t.expose('id', { type: 'UUID', description: 'The id that tokens name it by.' }),
    name: t.exposeString('name', { description: 'Name for people, unique over the installation.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
  }),
})

const CreateTenantInput = builder.inputType('CreateTenantInput', {
  description: 'A tenant to make.',
  fields: (t) => ({
    name: t.string({
      required: true,
      description: 'Name for people, 1 to 200 characters, unique over the installation.',
    }),
  }),
})

const CreateTenantSuccess = successOf<TenantRow>(
  'CreateTenantSuccess',
  'The tenant is made, with an empty active version of its organisation model.',
  (t) => ({ tenant: t.field({ type: Tenant, description: 'The tenant.', resolve: ({ result }) => result }) }),
)

const RevokeMembershipInput = builder.inputType('RevokeMembershipInput', {
  description: 'Whose membership to end.',
  fields: (t) => ({
    tenantId: t.id({ ...idArg('Tenant', 'Id of the tenant.'), required: true }),
    subject: t.string({ required: true, description: 'The `sub` of their tokens.' }),
  }),
})

const RevokeMembershipSuccess = successOf<{ readonly revokedAt: Date }>(
  'RevokeMembershipSuccess',
  'Their tokens of until now are refused, and jobs no longer act for them.',
  (t) => ({
    revokedAt: t.field({
      type: 'DateTime',
      description: 'Tokens issued at or before this moment are refused.',
      resolve: ({ result }) => result.revokedAt,
    }),
  }),
)

builder.mutationFields((t) => ({
  createTenant: t.field({
    type: CreateTenantSuccess,
    nullable: true,
    description: 'Makes a tenant. For operators of the installation.',
    args: { input: t.arg({ type: CreateTenantInput, required: true, description: 'The tenant.' }) },
    errors: outcomes('createTenant'),
    resolve: async (_root, { input }, context) => {
      const tenant = await createTenant(context.operatorCall(), { name: input.name }, context.tenantHooks)
      return administered(context, tenant, tenant.id)
    },
  }),
  revokeMembership: t.field({
    type: RevokeMembershipSuccess,
    nullable: true,
    description: 'Ends somebody’s membership of a tenant. For operators of the installation.',
    args: { input: t.arg({ type: RevokeMembershipInput, required: true, description: 'Whose.' }) },
    errors: outcomes('revokeMembership'),
    resolve: async (_root, { input }, context) => {
      const tenantId = decodeId('Tenant', input.tenantId, ['input', 'tenantId'])
      const revoked = await revokeMembership(context.operatorCall(), { tenantId, subject: input.subject })
      return administered(context, revoked, tenantId)
    },
  }),
}))

/** An operator's change: its place in the log is for the streams of the tenant that it was about. */
async function administered<Result>(context: ApiContext, result: Result, tenantId: string): Promise<Changed<Result>> {
  context.feed.hint()
  return { result, eventCursor: await currentCursor(context.database, tenantId, context.cursors) }
}
