import {
  archivePersona,
  createPersona,
  erasePerson,
  importPeople,
  MOST_PEOPLE_PER_IMPORT,
  personaById,
  updatePersona,
  upsertPerson,
  type Person as PersonRow,
  type Persona as PersonaRow,
} from '../../domain/organisation/index.ts'
import { NotFoundError } from '../../errors/index.ts'
import { builder } from '../builder.ts'
import { decodeId, encodeId, idArg } from '../id.ts'
import { idempotencyKey } from '../input-fields.ts'
import { changed, givenOf, KEYED, outcomes, successOf } from '../mutation.ts'
import { FILTER_ERRORS, filterProblemsIn, PEOPLE_ERRORS } from './errors.ts'
import { PersonaFilterInput, toTree } from './persona-filter.ts'
import { personaOf, personOf } from './reread.ts'

const PersonInput = builder.inputType('PersonInput', {
  description: 'A person as another system knows them.',
  fields: (t) => ({
    externalId: t.string({ required: true, description: 'Key of the person in that system, unique in the tenant.' }),
    values: t.field({
      type: 'JSONObject',
      required: true,
      description:
        'What the person holds, by attribute key: a number, a boolean, or a text (for a select the value’s key, for ' +
        'a date `2026-11-30`), a list of keys for a MULTI_SELECT, null to take it away. What is left out stays.',
    }),
  }),
})

const ImportPeopleInput = builder.inputType('ImportPeopleInput', {
  description: 'Many people at once.',
  fields: (t) => ({
    people: t.field({
      type: [PersonInput],
      required: true,
      description: `The people, 1 to ${MOST_PEOPLE_PER_IMPORT}. Handing one in again changes nothing.`,
    }),
  }),
})

const ImportPeopleSuccess = successOf<{ created: number; updated: number }>(
  'ImportPeopleSuccess',
  'All of them are in.',
  (t) => ({
    createdCount: t.int({ description: 'How many were new.', resolve: ({ result }) => result.created }),
    updatedCount: t.int({
      description: 'How many were known and are changed.',
      resolve: ({ result }) => result.updated,
    }),
  }),
)

const UpsertPersonInput = builder.inputType('UpsertPersonInput', {
  description: 'One person to write.',
  fields: (t) => ({
    person: t.field({ type: PersonInput, required: true, description: 'The person.' }),
  }),
})

const UpsertPersonSuccess = successOf<PersonRow>('UpsertPersonSuccess', 'The person is written.', (t) => ({
  person: personOf(t, 'The person as it is now.'),
}))

const ErasePersonInput = builder.inputType('ErasePersonInput', {
  description: 'The person to erase.',
  fields: (t) => ({
    personId: t.id({ ...idArg('Person', 'Id of the person.'), required: true }),
  }),
})

const ErasePersonSuccess = successOf<{ personId: string }>(
  'ErasePersonSuccess',
  'Nothing of the person is kept: the row and all it held are gone.',
  (t) => ({
    erasedPersonId: t.id({
      description: 'The id that the person had.',
      resolve: ({ result }) => encodeId('Person', result.personId),
    }),
  }),
)

const CreatePersonaInput = builder.inputType('CreatePersonaInput', {
  description: 'A persona to make.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Name for people, at most 200 characters.' }),
    description: t.string({ description: 'What it is for, at most 2,000 characters.' }),
    filter: t.field({
      type: PersonaFilterInput,
      required: true,
      description: 'Which people it selects, by the attributes and values of the active version.',
    }),
    idempotencyKey: idempotencyKey(t),
  }),
})

const UpdatePersonaInput = builder.inputType('UpdatePersonaInput', {
  description: 'What to change of a persona. What is left out stays.',
  fields: (t) => ({
    personaId: t.id({ ...idArg('Persona', 'Id of the persona.'), required: true }),
    expectedRevision: t.int({
      required: true,
      description: 'The `revision` you decided on. When it has another by now, nothing is done.',
    }),
    name: t.string({ description: 'Another name.' }),
    description: t.string({ description: 'Another description; null takes it away.' }),
    filter: t.field({ type: PersonaFilterInput, description: 'Another filter, in place of the whole one.' }),
  }),
})

const ArchivePersonaInput = builder.inputType('ArchivePersonaInput', {
  description: 'The persona to take out of use.',
  fields: (t) => ({
    personaId: t.id({ ...idArg('Persona', 'Id of the persona.'), required: true }),
    expectedRevision: t.int({
      description: 'The `revision` you decided on. When it has another by now, nothing is done.',
    }),
  }),
})

const personaSuccess = (name: string, description: string) =>
  successOf<PersonaRow>(name, description, (t) => ({
    persona: personaOf(t, 'The persona as it is now.'),
  }))

const CreatePersonaSuccess = personaSuccess('CreatePersonaSuccess', 'The persona is made.')
const UpdatePersonaSuccess = personaSuccess('UpdatePersonaSuccess', 'The persona is changed.')
const ArchivePersonaSuccess = personaSuccess('ArchivePersonaSuccess', 'The persona is out of use.')

builder.mutationFields((t) => ({
  importPeople: t.field({
    type: ImportPeopleSuccess,
    nullable: true,
    description: 'Writes many people, new and known, by their outside keys. All or nothing.',
    args: { input: t.arg({ type: ImportPeopleInput, required: true, description: 'The people.' }) },
    errors: outcomes('importPeople', PEOPLE_ERRORS),
    resolve: (_root, { input }, context) => changed(context, (call) => importPeople(call, { people: input.people })),
  }),
  upsertPerson: t.field({
    type: UpsertPersonSuccess,
    nullable: true,
    description: 'Writes one person, new or known, by the outside key.',
    args: { input: t.arg({ type: UpsertPersonInput, required: true, description: 'The person.' }) },
    errors: outcomes('upsertPerson', PEOPLE_ERRORS),
    resolve: (_root, { input }, context) => changed(context, (call) => upsertPerson(call, input.person)),
  }),
  erasePerson: t.field({
    type: ErasePersonSuccess,
    nullable: true,
    description: 'Erases a person and all they held, for good. Archived holdings go too.',
    args: { input: t.arg({ type: ErasePersonInput, required: true, description: 'The person.' }) },
    errors: outcomes('erasePerson'),
    resolve: (_root, { input }, context) => {
      const personId = decodeId('Person', input.personId, ['input', 'personId'])
      return changed(context, async (call) => {
        const { erased } = await erasePerson(call, { personId })
        if (!erased) throw new NotFoundError('The person', { path: ['personId'] })
        return { personId }
      })
    },
  }),
  createPersona: t.field({
    type: CreatePersonaSuccess,
    nullable: true,
    description: 'Makes a persona.',
    args: { input: t.arg({ type: CreatePersonaInput, required: true, description: 'The persona.' }) },
    errors: outcomes('createPersona', KEYED, FILTER_ERRORS),
    resolve: (_root, { input }, context) => {
      const { name, description = null } = input
      const filter = toTree(input.filter)
      return filterProblemsIn(filter, () =>
        changed(context, (call) => createPersona(call, { name, description, filter }), {
          mutation: 'createPersona',
          input,
          replay: async (subjects) => {
            const subject = subjects.find(({ kind }) => kind === 'persona')
            const persona = subject === undefined ? null : await personaById(context.call(), subject.id)
            if (persona === null) throw new Error('The first request with this key wrote no persona.')
            return persona
          },
        }),
      )
    },
  }),
  updatePersona: t.field({
    type: UpdatePersonaSuccess,
    nullable: true,
    description: 'Changes a persona.',
    args: { input: t.arg({ type: UpdatePersonaInput, required: true, description: 'What to change.' }) },
    errors: outcomes('updatePersona', FILTER_ERRORS),
    resolve: (_root, { input }, context) => {
      const personaId = decodeId('Persona', input.personaId, ['input', 'personaId'])
      const { expectedRevision } = input
      const filter = input.filter ? toTree(input.filter) : undefined
      return filterProblemsIn(filter, () =>
        changed(context, async (call) =>
          updatePersona(call, {
            personaId,
            expectedRevision,
            ...givenOf(input, ['name', 'description'], ['description']),
            ...(filter === undefined ? {} : { filter }),
          }),
        ),
      )
    },
  }),
  archivePersona: t.field({
    type: ArchivePersonaSuccess,
    nullable: true,
    description: 'Takes a persona out of use. It stays to be looked at.',
    args: { input: t.arg({ type: ArchivePersonaInput, required: true, description: 'The persona.' }) },
    errors: outcomes('archivePersona'),
    resolve: (_root, { input }, context) => {
      const personaId = decodeId('Persona', input.personaId, ['input', 'personaId'])
      const expected = input.expectedRevision == null ? {} : { expectedRevision: input.expectedRevision }
      return changed(context, (call) => archivePersona(call, { personaId, ...expected }))
    },
  }),
}))
