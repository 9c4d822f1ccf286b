import { personasByIds, type Persona as PersonaRow } from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionType } from '../connection.ts'
import { describedEnum } from '../lifecycle-enum.ts'
import { loaderOf } from '../loaders.ts'
import { fromTree } from './persona-filter.ts'

export const PersonaKind = describedEnum('PersonaKind', 'What decides who belongs to a persona.', {
  DYNAMIC: 'Its filter, at every moment anew.',
  STATIC: 'A list that was fixed once.',
})

export const PersonaValidity = describedEnum('PersonaValidity', 'Whether a persona’s filter can be evaluated.', {
  VALID: 'Every attribute and value it names is in the active version.',
  INVALID: 'It names something that is gone. Whatever uses it waits: nobody is selected, and not everybody either.',
})

builder.scalarType('PersonaFilter', {
  description:
    'The whole filter of a persona, however deep, in exactly the shape of `PersonaFilterInput`: change it and pass ' +
    'it back. Only in answers.',
  serialize: (value) => value as never,
  parseValue: () => {
    throw new TypeError('PersonaFilter is for answers only; use PersonaFilterInput.')
  },
})

export const personaLoader = loaderOf<string, PersonaRow>(personasByIds)

export const Persona = builder.objectRef<PersonaRow>('Persona')

builder.node(Persona, {
  description: 'A saved filter over people, which other things name instead of repeating it.',
  id: { resolve: (persona) => persona.id },
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'filter' in value && 'validity' in value,
  loadMany: (ids, context) => ids.map((id) => personaLoader(context).load(id)),
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The id that webhooks and files speak.' }),
    name: t.exposeString('name', { description: 'Name for people.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it is for.' }),
    kind: t.expose('kind', { type: PersonaKind, description: 'What decides who belongs to it.' }),
    filter: t.field({
      type: 'PersonaFilter',
      description: 'Which people it selects.',
      resolve: ({ filter }) => fromTree(filter),
    }),
    revision: t.exposeInt('revision', {
      description: 'Rises by one with every write; its events’ sequence. Pass it as `expectedRevision`.',
    }),
    validity: t.expose('validity', { type: PersonaValidity, description: 'Whether the filter can be evaluated now.' }),
    invalidReason: t.exposeString('invalidReason', { nullable: true, description: 'What is wrong with an INVALID one.' }),
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
