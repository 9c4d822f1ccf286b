import { may, ROLES, type Viewer as ViewerRow } from '../viewer/index.ts'
import { builder } from './builder.ts'

const permissionsOf = (roles: readonly string[]): string[] =>
  [...new Set(Object.values(ROLES).flat())].filter((permission) => may(roles, permission)).toSorted()

const Viewer = builder
  .objectRef<Omit<ViewerRow, 'tenantId'> & { readonly tenantId: string | null }>('Viewer')
  .implement({
    description: 'Whoever is asking, as the token says.',
    fields: (t) => ({
      subject: t.exposeString('subject', { description: 'Who it is: the token’s `sub`.' }),
      tenantUuid: t.expose('tenantId', {
        type: 'UUID',
        nullable: true,
        description: 'The tenant in whose name; null for an operator without one.',
      }),
      roles: t.expose('roles', { type: ['String'], description: 'The token’s roles.' }),
      permissions: t.field({
        type: ['String'],
        description: 'What the roles allow, by name.',
        resolve: ({ roles }) => permissionsOf(roles),
      }),
      tokenExpiresAt: t.expose('tokenExpiresAt', {
        type: 'DateTime',
        description: 'When the token ends. A WebSocket is closed then; the client connects again with a new one.',
      }),
    }),
  })

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    description: 'Who you are.',
    resolve: (_root, _args, { viewer, operator }) => viewer ?? { ...operator!, tenantId: null },
  }),
)
