import { beforeAll, describe, expect, test } from 'vitest'
import { useApi } from './api.ts'
import { succeeded } from './scene.ts'
import { CREATE_PERSONA, personasIn, type Personas } from './personas.ts'

const api = useApi()
let personas: Personas

beforeAll(async () => {
  personas = await personasIn(api, 'Idempotency')
})

describe('idempotency', () => {
  const keyed = (idempotencyKey: string, name: string) => ({
    input: { name, filter: personas.everybody(), idempotencyKey },
  })
  const named = async (name: string): Promise<number> =>
    (await api.db.pool.query('select from persona where name = $1', [name])).rowCount ?? 0

  test('R30 the same key and input do nothing twice and give the same thing, in the fields asked for', async () => {
    const first = succeeded(await personas.ask(CREATE_PERSONA, keyed('k1', 'R30')))
    const again = succeeded(await personas.ask(CREATE_PERSONA, keyed('k1', 'R30')))
    expect(again['persona'].id).toBe(first['persona'].id)
    expect(await named('R30')).toBe(1)
    const other = await personas.ask(
      'mutation($input: CreatePersonaInput!) { createPersona(input: $input) { ... on CreatePersonaSuccess { persona { validity } } } }',
      keyed('k1', 'R30'),
    )
    expect(other.data?.['createPersona'].persona).toEqual({ validity: 'VALID' })
  })

  test('R30 the same key with another input is refused; another actor’s key is another key', async () => {
    succeeded(await personas.ask(CREATE_PERSONA, keyed('k2', 'R30 a')))
    const reused = await personas.ask(CREATE_PERSONA, keyed('k2', 'R30 b'))
    expect(reused.data?.['createPersona']).toMatchObject({
      __typename: 'IdempotencyKeyReusedError',
      code: 'IDEMPOTENCY_KEY_REUSED',
    })
    expect(await named('R30 b')).toBe(0)
    succeeded(await api.ask({ ...personas.scene.as, subject: 'bob' }, CREATE_PERSONA, keyed('k2', 'R30 b')))
  })

  test('R30 of many at once one makes it, and all get it', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => personas.ask(CREATE_PERSONA, keyed('k3', 'R30 many'))),
    )
    const ids = new Set(answers.map((answer) => succeeded(answer)['persona'].id))
    expect(ids.size).toBe(1)
    expect(await named('R30 many')).toBe(1)
  })

  test('R30 a request that failed leaves its key free', async () => {
    const bad = { condition: { attributeId: personas.scene.persona.uuid, comparison: 'IS_SET' } }
    const refused = await personas.ask(CREATE_PERSONA, { input: { name: 'R30 c', filter: bad, idempotencyKey: 'k4' } })
    expect(refused.data?.['createPersona'].__typename).toBe('PersonaFilterInvalidError')
    succeeded(await personas.ask(CREATE_PERSONA, keyed('k4', 'R30 c')))
  })

  test('R30 a key that has lapsed is new again, and lapsed keys of the tenant go', async () => {
    succeeded(await personas.ask(CREATE_PERSONA, keyed('k5', 'R30 d')))
    succeeded(await personas.ask(CREATE_PERSONA, keyed('k6', 'R30 e')))
    await api.db.pool.query(
      `update idempotency_key set expires_at = now() - interval '1 second' where key in ('k5', 'k6')`,
    )
    succeeded(await personas.ask(CREATE_PERSONA, keyed('k5', 'R30 other')))
    expect(await named('R30 other')).toBe(1)
    const { rows } = await api.db.pool.query(`select key from idempotency_key where key in ('k5', 'k6')`)
    expect(rows).toEqual([{ key: 'k5' }])
  })

  test('R30 a key has 1 to 128 characters', async () => {
    for (const key of ['', 'x'.repeat(129)]) {
      const answer = await personas.ask(CREATE_PERSONA, keyed(key, 'R30 f'))
      expect(answer.data?.['createPersona']).toMatchObject({ __typename: 'ValidationError', path: ['idempotencyKey'] })
    }
  })

  test('R30 a draft that was opened with a key is the answer to the key', async () => {
    const as = await api.tenant('R30 drafts')
    const source =
      'mutation($input: CreateOrgModelDraftInput!) { createOrgModelDraft(input: $input) { __typename ... on CreateOrgModelDraftSuccess { draft { id status } } ... on UserError { code } } }'
    const first = succeeded(await api.ask(as, source, { input: { name: 'once', idempotencyKey: 'd1' } }))
    const again = succeeded(await api.ask(as, source, { input: { idempotencyKey: 'd1', name: 'once' } }))
    expect(again['draft']).toEqual(first['draft'])
    const other = await api.ask(as, source, { input: { name: 'once', idempotencyKey: 'd2' } })
    expect(other.data?.['createOrgModelDraft'].code).toBe('orgmodel.version.draft_already_exists')
  })

  test('R30 an imported model is told again with what it changed', async () => {
    const as = await api.tenant('R30 imports')
    const source =
      'mutation($input: ImportOrgModelInput!) { importOrgModel(input: $input) { __typename ... on ImportOrgModelSuccess { draft { id } changes { key kind label } } ... on UserError { code } } }'
    const attributes = [{ key: 'age', label: 'Age', dataType: 'NUMBER' }]
    const first = succeeded(await api.ask(as, source, { input: { attributes, idempotencyKey: 'i1' } }))
    const again = succeeded(await api.ask(as, source, { input: { attributes, idempotencyKey: 'i1' } }))
    expect(again).toEqual(first)
    expect(first['changes']).toMatchObject([{ kind: 'ATTRIBUTE_ADDED', label: 'Age' }])
  })
})
