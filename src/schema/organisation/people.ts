import { builder } from '../builder.ts'
import { connectionType } from '../connection.ts'
import { keyOf } from '../node-key.ts'

const PersonValue = builder.prismaObject('PersonAttributeValue', {
  name: 'PersonValue',
  description: 'What a person holds of one attribute: exactly one of the five kinds is not null.',
  select: {},
  fields: (t) => ({
    attributeUuid: t.expose('attributeId', { type: 'UUID', description: 'The attribute.' }),
    valueUuid: t.expose('valueId', { type: 'UUID', nullable: true, description: 'One of the attribute’s values.' }),
    text: t.exposeString('text', { nullable: true, description: 'Of a TEXT attribute.' }),
    number: t.float({
      nullable: true,
      description: 'Of a NUMBER attribute.',
      select: { number: true },
      resolve: ({ number }) => (number === null ? null : Number(number)),
    }),
    date: t.expose('date', { type: 'Date', nullable: true, description: 'Of a DATE attribute.' }),
    boolean: t.exposeBoolean('bool', { nullable: true, description: 'Of a BOOLEAN attribute.' }),
  }),
})

export const Person = builder.prismaNode('Person', {
  description: 'Somebody whom the organisation model describes: known by an outside key only, without name or address.',
  id: { resolve: (person) => person.id },
  select: { id: true },
  findUnique: (id, context) => keyOf(id, context, 'people.read'),
  fields: (t) => ({
    uuid: t.expose('id', { type: 'UUID', description: 'The id that webhooks and files speak.' }),
    externalId: t.exposeString('externalId', { description: 'Key of the person in the system they come from.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When first seen.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When last written.' }),
    values: t.relation('values', {
      type: PersonValue,
      description: 'What the person holds, at most one entry per attribute, or one per value of a MULTI_SELECT.',
      query: { orderBy: [{ attributeId: 'asc' }, { item: 'asc' }] },
    }),
  }),
})

export const PersonConnection = connectionType(Person, 'people')
