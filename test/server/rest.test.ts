import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { composeDrafts } from '../../src/domain/organisation/index.ts'
import { NOBODY } from '../../src/server/callers.ts'
import { DRAFT_RESOLUTIONS_PATH, draftResolutions } from '../../src/server/rest/draft-resolutions.ts'
import { useDatabase } from '../harness/database.ts'
import { dropAttribute, openScene, type Scene, seen } from '../organisation/resolutions-scene.ts'
import { withRoles } from '../organisation/tenant.ts'
import { type RunningFixture, useFixtureServer } from './fixture-server.ts'

const db = useDatabase()
const start = useFixtureServer()
const drafts = composeDrafts()
let scene: Scene
let persona: string
let server: RunningFixture
let woken: number

/** A draft without departments, one persona that needs them, and a server for `Bearer anna` and `Bearer reader`. */
beforeEach(async () => {
  scene = await openScene(db.database)
  const { call } = scene
  const condition = { field: scene.attribute('department'), cmp: 'in', values: [scene.value('department', 'sales')] }
  const filter = { op: 'and', items: [{ op: 'cond', ...condition }] }
  persona = (await scene.persona('Sales', filter)).id
  await dropAttribute(call, scene.attribute('department'))
  woken = 0
  server = await start({
    rest: [draftResolutions(drafts, db.database)],
    authenticate: async (authorization) => {
      if (authorization === 'Bearer anna') return { viewer: call.viewer, operator: null }
      if (authorization === 'Bearer reader') return { viewer: withRoles(call, 'reader').viewer, operator: null }
      return NOBODY
    },
    afterMutation: () => void woken++,
  })
})

const choice = (own: object = {}) => ({
  issueCode: 'persona.attribute_in_use',
  affectedEntityId: persona,
  chosenActionType: 'persona.archive',
  actionPayload: { reason: 'Not needed' },
  ...own,
})

async function submit(body: unknown, headers: Record<string, string> = {}, method = 'POST') {
  const response = await fetch(`${server.url}${DRAFT_RESOLUTIONS_PATH}`, {
    method,
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer anna',
      'x-tenant-id': scene.call.viewer.tenantId,
      ...headers,
    },
    ...(method === 'POST' ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as any }
}

const kept = async () =>
  (await db.pool.query('select id from org_model_draft_resolution where tenant_id = $1', [scene.call.viewer.tenantId]))
    .rows.length

test('C50 the seed’s request is answered as the seed says, with 201 and the ids in the request’s order', async () => {
  const { status, headers, body } = await submit({ resolutions: [choice()] })
  expect(status).toBe(201)
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  const resolution = await seen(scene.call, body.resolutions[0].resolutionId)
  expect(body).toEqual({
    resolutions: [
      {
        resolutionId: resolution.id,
        issueCode: 'persona.attribute_in_use',
        affectedEntityId: persona,
        hangfireJobId: resolution.jobId,
      },
    ],
  })
  expect(resolution).toMatchObject({ status: 'PENDING', actionType: 'persona.archive' })
  expect((await db.pool.query('select from job where id = $1', [resolution.jobId])).rowCount).toBe(1)
  expect(woken).toBe(1)
})

test('C04 C29 a second submission keeps the id and has a new job; with the key of the first it is the first', async () => {
  const first = await submit({ resolutions: [choice()] }, { 'idempotency-key': 'one' })
  const again = await submit({ resolutions: [choice()] }, { 'idempotency-key': 'one' })
  expect(again.body).toEqual(first.body)
  const other = await submit({ resolutions: [choice({ actionPayload: { reason: 'Other' } })] })
  expect(other.body.resolutions[0].resolutionId).toBe(first.body.resolutions[0].resolutionId)
  expect(other.body.resolutions[0].hangfireJobId).not.toBe(first.body.resolutions[0].hangfireJobId)
  const reused = await submit(
    { resolutions: [choice({ chosenActionType: 'persona.x' })] },
    { 'idempotency-key': 'one' },
  )
  expect(reused).toMatchObject({ status: 409, body: { code: 'orgmodel.resolution.idempotency_conflict' } })
})

test('C45 the tenant is the token’s; a header that names another, or none, is refused and nothing is kept', async () => {
  for (const tenant of [randomUUID(), '', 'x'])
    expect(await submit({ resolutions: [choice()] }, { 'x-tenant-id': tenant })).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN', status: 403 },
    })
  expect(await kept()).toBe(0)
  const upper = scene.call.viewer.tenantId.toUpperCase()
  expect((await submit({ resolutions: [choice()] }, { 'x-tenant-id': upper })).status).toBe(201)
})

test('C42 C49 what cannot be submitted is a problem with the seed’s code, all or nothing, each item by its place', async () => {
  const { status, headers, body } = await submit({
    resolutions: [choice(), choice({ affectedEntityId: randomUUID() }), choice({ issueCode: 'persona.nothing' })],
  })
  expect(status).toBe(422)
  expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(body).toEqual({
    type: 'urn:regie:error:orgmodel.resolution.invalid',
    title: 'The request asks for what cannot be done.',
    status: 422,
    detail: expect.stringContaining('2 problems were found, so nothing was submitted.'),
    code: 'orgmodel.resolution.invalid',
    requestId: headers.get('x-request-id'),
    errors: [
      expect.objectContaining({ index: 1, code: 'orgmodel.resolution.issue_not_open' }),
      expect.objectContaining({ index: 2, code: 'orgmodel.resolution.issue_not_open' }),
    ],
  })
  for (const item of body.errors) expect(item.pointer).toMatch(/^\/resolutions\/[12]/)
  expect(await kept()).toBe(0)
})

test('without an open draft the seed’s code comes with 422', async () => {
  await drafts.discardDraft(scene.call, { reason: 'No longer needed.' })
  expect(await submit({ resolutions: [choice()] })).toMatchObject({
    status: 422,
    body: { code: 'orgmodel.version.no_draft_to_submit_resolutions' },
  })
})

const nonsense: readonly (readonly [string, unknown, number, string])[] = [
  ['no JSON', '{"resolutions": [', 400, 'BAD_USER_INPUT'],
  ['no body at all', '', 400, 'BAD_USER_INPUT'],
  ['a list', [], 422, 'orgmodel.resolution.request_invalid'],
  ['null', null, 422, 'orgmodel.resolution.request_invalid'],
  ['nothing in it', {}, 422, 'orgmodel.resolution.request_invalid'],
  [
    'a name that is misspelt',
    { resolutions: [{ issueCode: 'a.b', chosenAction: 'x' }] },
    422,
    'orgmodel.resolution.request_invalid',
  ],
  ['no resolution', { resolutions: [] }, 422, 'orgmodel.resolution.empty_batch'],
  [
    'too many',
    { resolutions: Array.from({ length: 101 }, () => ({ issueCode: 'a.b', chosenActionType: 'x' })) },
    422,
    'orgmodel.resolution.batch_too_large',
  ],
]
test.each(nonsense)('C43 C49 a request with %s is refused with its code', async (_, body, status, code) => {
  expect(await submit(body)).toMatchObject({ status, body: { status, code, detail: expect.any(String) } })
  expect(await kept()).toBe(0)
})

test('who may not, who is nobody, and what is no POST of JSON', async () => {
  const body = { resolutions: [choice()] }
  expect(await submit(body, { authorization: 'Bearer reader' })).toMatchObject({
    status: 403,
    body: { code: 'FORBIDDEN' },
  })
  const nobody = await submit(body, { authorization: 'Bearer nobody' })
  expect(nobody).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
  expect(nobody.headers.get('www-authenticate')).toBe('Bearer')
  expect(await submit(body, { 'content-type': 'text/plain' })).toMatchObject({ status: 415 })
  const get = await submit(null, {}, 'GET')
  expect(get).toMatchObject({ status: 405, body: { code: 'BAD_USER_INPUT' } })
  expect(get.headers.get('allow')).toBe('POST, OPTIONS')
  const foreign = await submit(null, { origin: 'https://app.example' }, 'OPTIONS')
  expect(foreign.status).toBe(204)
  expect(foreign.headers.get('access-control-allow-headers')).toContain('x-tenant-id')
  expect(await kept()).toBe(0)
})
