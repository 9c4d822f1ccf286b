import {
  countPeople,
  countPersonas,
  listPeople,
  listPersonas,
  personaAudience,
  personaById,
  personaKey,
  personKey,
  personByExternalId,
  personById,
} from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageArgs, pageCost } from '../connection.ts'
import { apiError } from '../errors/index.ts'
import { decodeId, idArg } from '../id.ts'
import { keyIs } from '../keyset-cursor.ts'
import { Person, PersonConnection } from './people.ts'
import { Persona, PersonaConnection, PersonaValidity } from './persona.ts'

const PersonaFilterBy = builder.inputType('PersonasFilter', {
  description: 'Which personas to list. What is left out does not narrow.',
  fields: (t) => ({
    isArchived: t.boolean({ description: 'Only archived ones, or only those in use.' }),
    validity: t.field({ type: PersonaValidity, description: 'Only those whose filter is so.' }),
    nameContains: t.string({ description: 'Only those with this in their name, in whatever case.' }),
  }),
})

const isIdKey = keyIs({ id: 'uuid' })

builder.queryFields((t) => ({
  person: t.field({
    type: Person,
    nullable: true,
    description: 'One person, by id or by outside key (give one of the two); null when there is none.',
    args: {
      id: t.arg.id(idArg('Person', 'Id of the person.')),
      externalId: t.arg.string({ description: 'Key of the person in the system they come from.' }),
    },
    resolve: (_root, { id, externalId }, context) => {
      if (typeof id === 'string' && typeof externalId !== 'string') {
        return personById(context.call(), decodeId('Person', id, ['id']))
      }
      if (typeof externalId === 'string' && typeof id !== 'string') return personByExternalId(context.call(), externalId)
      throw apiError('BAD_USER_INPUT', 'Give "id" or "externalId", one of the two.', { inputPath: ['id'] })
    },
  }),
  people: t.field({
    type: PersonConnection,
    description: 'All people, in the order in which they came.',
    args: pageArgs(t),
    complexity: pageCost,
    resolve: (_root, args, context) =>
      connectionOf(args, {
        isKey: isIdKey,
        keyOf: personKey,
        read: (page) => listPeople(context.call(), page),
        count: () => countPeople(context.call()),
      }),
  }),
  persona: t.field({
    type: Persona,
    nullable: true,
    description: 'One persona; null when it does not exist.',
    args: { id: t.arg.id({ ...idArg('Persona', 'Id of the persona.'), required: true }) },
    resolve: (_root, { id }, context) => personaById(context.call(), decodeId('Persona', id, ['id'])),
  }),
  personas: t.field({
    type: PersonaConnection,
    description: 'All personas, by name.',
    args: { filter: t.arg({ type: PersonaFilterBy, description: 'Which of them.' }), ...pageArgs(t) },
    complexity: pageCost,
    resolve: (_root, { filter, ...args }, context) => {
      const chosen = {
        ...(filter?.isArchived == null ? {} : { archived: filter.isArchived }),
        ...(filter?.validity == null ? {} : { validity: filter.validity }),
        ...(filter?.nameContains == null ? {} : { nameContains: filter.nameContains }),
      }
      return connectionOf(args, {
        isKey: keyIs({ name: 'string', id: 'uuid' }),
        keyOf: personaKey,
        read: (page) => listPersonas(context.call(), { ...chosen, ...page }),
        count: () => countPersonas(context.call(), chosen),
      })
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
        keyOf: personKey,
        read: async (page) => {
          const audience = await personaAudience(context.call(), { ...of, ...page })
          count = audience.count
          return audience
        },
        count: async () => count,
      })
    },
  }),
}))
