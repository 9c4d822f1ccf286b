import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'

const files = readdirSync(join(projectFolder(), 'src/jobs'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(join(projectFolder(), 'src/jobs', file), 'utf8') }))

test('J13 J96 the engine’s SQL names its own tables and the log’s functions, no domain’s', () => {
  const named = files.flatMap(({ text }) =>
    [...text.matchAll(/\b(?:from|join|into|update|table)\s+([a-z_]+)\b(?!\s*\()/g)].map(([, table]) => table!),
  )
  const tables = [...new Set(named)].filter((name) =>
    /^(job|event|org|person|draft|tenant|member|workflow|execution|notification)/.test(name),
  )
  expect(tables.toSorted()).toEqual([
    'job',
    'job_act',
    'job_batch',
    'job_breaker',
    'job_count',
    'job_count_position',
    'job_ended_lately',
    'job_event',
    'job_finished',
    'job_key',
    'job_policy',
    'job_policy_version',
    'job_rate',
    'job_schedule',
    'job_slot',
    'job_type',
    'job_worker',
  ])
})

test('J04 J11 J16 the engine imports no domain, no API and no server', () => {
  for (const { file, text } of files)
    expect(text.match(/from '[./]+\/(domain|schema|server|transitions|viewer)\//)?.[0] ?? null, file).toBeNull()
})

test('J05 no message broker among the dependencies', () => {
  const { dependencies } = JSON.parse(readFileSync(join(projectFolder(), 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const brokers = Object.keys(dependencies).filter((name) =>
    /amqp|rabbit|kafka|nats|redis|bullmq|sqs|servicebus|mqtt/i.test(name),
  )
  expect(brokers).toEqual([])
})

test('every decision about due, lease and expiry is the database’s: no file reads the process’s wall clock', () => {
  for (const { file, text } of files) expect(/Date\.now\(\)|new Date\(\)/.test(text), file).toBe(false)
})
