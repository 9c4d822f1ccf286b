import { expect, test } from 'vitest'
import { Failure } from '../../src/errors/index.ts'
import {
  actOnJob,
  cancelJobs,
  failed,
  type JobContext,
  JobRegistry,
  notApplicable,
  pauseType,
  postponed,
  retryAfter,
  succeeded,
} from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, range, TENANT, testJob, useEngines } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

/** Each in the dress in which it would be met. */
const SECRETS = [
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.h1ddenSignature',
  'Bearer h1ddenBearer99',
  'smtp://mailer:h1ddenPassword@mail.example.org',
  'password=h1ddenValue',
  '"apiKey": "h1dden key"',
  '-----BEGIN PRIVATE KEY-----\nh1ddenKey\n-----END PRIVATE KEY-----',
]
const ALL = SECRETS.join(' then ')

/** Every text and JSON value that stands in a table of the engine. */
async function everythingWritten(): Promise<string> {
  const { rows: tables } = await db.pool.query(
    `select format('%I', tablename) as name from pg_tables where schemaname = 'public' and tablename ~ '^(job|event)'`,
  )
  const texts: string[] = []
  for (const { name } of tables)
    texts.push(...(await db.pool.query(`select t::text as row from ${name} t`)).rows.map(({ row }) => row as string))
  return texts.join('\n')
}

const answers = [
  () => succeeded({ note: ALL, token: 'h1ddenToken', deep: [{ password: 'h1ddenDeep' }] }),
  () => failed('test.code', ALL),
  () => notApplicable(ALL),
  () => retryAfter(0, 'test.code', ALL),
  () => postponed(3_600_000, ALL),
  () => {
    throw new Failure('PERMANENT', 'test.code', ALL)
  },
  () => {
    throw new Error(ALL, { cause: new Error(ALL) })
  },
]

test('J36 J88 J89 what a handler or an operator says by mistake is written nowhere, and neither logged', async () => {
  const lines: string[] = []
  const keep = (fields: object, message: string) => void lines.push(JSON.stringify([fields, message]))
  const job = testJob('test.talks', {
    displayName: () => ALL.slice(0, 150),
    policy: { maxAttempts: 2, delaysMs: [0] },
    run: async ({ n }, context: JobContext) => {
      context.log.info({ header: ALL, nested: { authorization: 'h1ddenHeader' } }, ALL)
      return answers[n]!()
    },
  })
  const ids = await enqueueNumbers(db, job, range(answers.length))
  const [waits] = await enqueueNumbers(db, job, [0], { delayMs: 3_600_000 })
  const [other] = await enqueueNumbers(db, job, [0], { delayMs: 3_600_000 })
  const logger = { info: keep, warn: keep, error: keep }
  const { signals } = await engines.start([job], { logger })
  // Two of them are tried twice.
  await signals.ended(answers.length + 2)

  const parts = { database: db.database, registry: new JobRegistry([job]) }
  const by = { actor: 'olga', reason: ALL, correlationId: 'c' }
  await cancelJobs(db.database, { tenantId: TENANT, jobIds: [waits!], reason: ALL, actor: 'anna' })
  await actOnJob(parts, 'CANCEL', other!, by)
  await pauseType(parts, job.type, by)

  expect(lines.length).toBeGreaterThan(answers.length)
  expect(lines.join('\n')).not.toContain('h1dden')
  const written = await everythingWritten()
  // It is all there, but for the secrets.
  for (const id of ids) expect(written).toContain(id)
  expect(written).toContain('then')
  expect(written).not.toContain('h1dden')
})

test.each(SECRETS.slice(0, 3).concat(SECRETS[5]!))('J36 a payload that holds %s is refused', async (secret) => {
  const { z } = await import('zod')
  const job = { ...testJob('test.payload'), payload: z.object({ n: z.number(), text: z.string() }) }
  await expect(enqueueNumbers(db, job as never, [1], { payload: { n: 1, text: secret } } as never)).rejects.toThrow(
    'holds a secret in the field "text"',
  )
})
