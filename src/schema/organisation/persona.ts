import type { ConditionTree } from '../../domain/conditions/index.ts'
import type { PersonaKind as Kind, PersonaValidity as Validity } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionType } from '../connection.ts'
import { keyOf } from '../node-key.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { fromTree } from './persona-filter.ts'

export const PersonaKind = describedEnum<Kind>('PersonaKind', 'What decides who belongs to a persona.', {
  DYNAMIC: 'Its filter, at every moment anew.',
  STATIC: 'A list that was fixed once.',
})

export const PersonaValidity = describedEnum<Validity>(
  'PersonaValidity',
  'Whether a persona’s filter can be evaluated.',
  {
    VALID: 'Every attribute and value it names is in the active version.',
    INVALID: 'It names something that is gone. Whatever uses it waits: nobody is selected, and not everybody either.',
  },
)

builder.scalarType('PersonaFilter', {
  description:
    'The whole filter of a persona, however deep, in exactly the shape of `PersonaFilterInput`: change it and pass ' +
    'it back. Only in answers.',
  serialize: (value) => value as never,
  parseValue: () => {
    throw new TypeError('PersonaFilter is for answers only; use PersonaFilterInput.')
  },
})

export const Persona = builder.prismaNode('Persona', {
  description: 'A saved filter over people, which other things name instead of repeating it.',
  id: { resolve: (persona) => persona.id },
  select: { id: true },
  findUnique: (id, context) => keyOf(id, context, 'orgmodel.read'),
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The id that webhooks and files speak.' }),
    name: t.exposeString('name', { description: 'Name for people.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it is for.' }),
    kind: t.field({
      type: PersonaKind,
      description: 'What decides who belongs to it.',
      select: { kind: true },
      resolve: ({ kind }) => kind as Kind,
    }),
    filter: t.field({
      type: 'PersonaFilter',
      description: 'Which people it selects.',
      select: { filter: true },
      // Written by the domain only, which has read it before.
      resolve: ({ filter }) => fromTree(filter as unknown as ConditionTree),
    }),
    revision: t.exposeInt('revision', {
      description: 'Rises by one with every write; its events’ sequence. Pass it as `expectedRevision`.',
    }),
    validity: t.field({
      type: PersonaValidity,
      description: 'Whether the filter can be evaluated now.',
      select: { validity: true },
      resolve: ({ validity }) => validity as Validity,
    }),
    invalidReason: t.exposeString('invalidReason', {
      nullable: true,
      description: 'What is wrong with an INVALID one.',
    }),
    archivedAt: t.expose('archivedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is out of use; null while it is in use.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last written.' }),
  }),
})

export const PersonaConnection = connectionType(Persona, 'personas')
