import {
  personById,
  personValues,
  type Person as PersonRow,
  type PersonValue as PersonValueRow,
} from '../../domain/organisation/index.ts'
import { builder } from '../builder.ts'
import { connectionType } from '../connection.ts'
import { loaderOf } from '../loaders.ts'

const valuesLoader = loaderOf<string, readonly PersonValueRow[]>(personValues)

const PersonValue = builder.objectRef<PersonValueRow>('PersonValue').implement({
  description: 'What a person holds of one attribute: exactly one of the five kinds is not null.',
  fields: (t) => ({
    attributeUuid: t.expose('attributeId', { type: 'UUID', description: 'The attribute.' }),
    valueUuid: t.expose('valueId', { type: 'UUID', nullable: true, description: 'One of the attribute’s values.' }),
    text: t.exposeString('text', { nullable: true, description: 'Of a TEXT attribute.' }),
    number: t.exposeFloat('number', { nullable: true, description: 'Of a NUMBER attribute.' }),
    date: t.expose('date', { type: 'Date', nullable: true, description: 'Of a DATE attribute.' }),
    boolean: t.exposeBoolean('bool', { nullable: true, description: 'Of a BOOLEAN attribute.' }),
  }),
})

export const Person = builder.objectRef<PersonRow>('Person')

builder.node(Person, {
  description: 'Somebody whom the organisation model describes: known by an outside key only, without name or address.',
  id: { resolve: (person) => person.id },
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'externalId' in value,
  loadMany: (ids, context) => ids.map((id) => personById(context.call(), id)),
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The id that webhooks and files speak.' }),
    externalId: t.exposeString('externalId', { description: 'Key of the person in the system they come from.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When first seen.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When last written.' }),
    values: t.field({
      type: [PersonValue],
      description: 'What the person holds, at most one entry per attribute, or one per value of a MULTI_SELECT.',
      resolve: async (person, _args, context) => (await valuesLoader(context).load(person.id)) ?? [],
    }),
  }),
})

export const PersonConnection = connectionType(Person, 'people')
