import { personaAudience, personKey } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageArgs, pageCost } from '../connection.ts'
import { apiError } from '../errors/index.ts'
import { decodeId, idArg } from '../id.ts'
import { keyIs } from '../keyset-cursor.ts'
import { keyOf } from '../node-key.ts'
import { rowsConnection, selectedRows } from '../rows.ts'
import { PersonConnection } from './people.ts'
import { PersonaConnection, PersonaValidity } from './persona.ts'

const PersonasFilter = builder.inputType('PersonasFilter', {
  description: 'Which personas to list. What is left out does not narrow.',
  fields: (t) => ({
    isArchived: t.boolean({ description: 'Only archived ones, or only those in use.' }),
    validity: t.field({ type: PersonaValidity, description: 'Only those whose filter is so.' }),
    nameContains: t.string({ description: 'Only those with this in their name, in whatever case.' }),
  }),
})

const isIdKey = keyIs({ id: 'uuid' })

builder.queryFields((t) => ({
  person: t.prismaField({
    type: 'Person',
    nullable: true,
    description: 'One person, by id or by outside key (give one of the two); null when there is none.',
    args: {
      id: t.arg.id(idArg('Person', 'Id of the person.')),
      externalId: t.arg.string({ description: 'Key of the person in the system they come from.' }),
    },
    resolve: (query, _root, { id, externalId }, context) => {
      const { person } = context.rows('people.read')
      if (typeof id === 'string' && typeof externalId !== 'string') {
        return person.findFirst({ ...query, where: { id: decodeId('Person', id, ['id']) } })
      }
      if (typeof externalId === 'string' && typeof id !== 'string') {
        return person.findFirst({ ...query, where: { externalId } })
      }
      throw apiError('BAD_USER_INPUT', 'Give "id" or "externalId", one of the two.', { inputPath: ['id'] })
    },
  }),
  people: t.field({
    type: PersonConnection,
    description: 'All people, in the order in which they came.',
    args: pageArgs(t),
    complexity: pageCost,
    resolve: (_root, args, context, info) => {
      const { person } = context.rows('people.read')
      return rowsConnection(
        args,
        { id: ['uuid', 'asc'] },
        (page) => person.findMany({ ...selectedRows(context, info, { id: true }), ...page }),
        () => person.count(),
      )
    },
  }),
  persona: t.prismaField({
    type: 'Persona',
    nullable: true,
    description: 'One persona; null when it does not exist.',
    args: { id: t.arg.id({ ...idArg('Persona', 'Id of the persona.'), required: true }) },
    resolve: (query, _root, { id }, context) =>
      context.prisma().persona.findUnique({
        ...query,
        where: keyOf(decodeId('Persona', id, ['id']), context, 'orgmodel.read'),
      }),
  }),
  personas: t.field({
    type: PersonaConnection,
    description: 'All personas, by name.',
    args: { filter: t.arg({ type: PersonasFilter, description: 'Which of them.' }), ...pageArgs(t) },
    complexity: pageCost,
    resolve: (_root, { filter, ...args }, context, info) => {
      const { persona } = context.rows('orgmodel.read')
      const where = {
        ...(filter?.isArchived == null ? {} : { archivedAt: filter.isArchived ? { not: null } : null }),
        ...(filter?.validity == null ? {} : { validity: filter.validity }),
        ...(filter?.nameContains == null
          ? {}
          : { name: { contains: filter.nameContains, mode: 'insensitive' as const } }),
      }
      return rowsConnection(
        args,
        { name: ['string', 'asc'], id: ['uuid', 'asc'] },
        (page) =>
          persona.findMany({
            ...selectedRows(context, info, { id: true, name: true }),
            ...page,
            where: { AND: [where, page.where] },
          }),
        () => persona.count({ where }),
      )
    },
  }),
  personaAudience: t.field({
    type: PersonConnection,
    nullable: true,
    description:
      'Whom a persona selects, under the active version or under another one; null when it does not exist. ' +
      '`totalCount` is exact here. An INVALID persona selects nobody and not everybody either: it is refused with ' +
      'the reason `persona.invalid`.',
    args: {
      personaId: t.arg.id({ ...idArg('Persona', 'Id of the persona.'), required: true }),
      versionId: t.arg.id(idArg('OrgModelVersion', 'Evaluate under this version; left out: the active one.')),
      ...pageArgs(t),
    },
    complexity: pageCost,
    resolve: (_root, { personaId, versionId, ...args }, context) => {
      const of = {
        personaId: decodeId('Persona', personaId, ['personaId']),
        ...(typeof versionId === 'string' ? { versionId: decodeId('OrgModelVersion', versionId, ['versionId']) } : {}),
      }
      let count: number | null = null
      return connectionOf(args, {
        isKey: isIdKey,
        read: async (page) => {
          const audience = await personaAudience(context.call(), { ...of, ...page })
          count = audience.count
          return audience
        },
        keyOf: personKey,
        count: async () => count,
      })
    },
  }),
}))
