import { expect, test } from 'vitest'
import { checkConnections, Database, StartupError } from '../../src/database/index.ts'
import { useServer } from '../harness/server.ts'

const own = useServer({ timezone: 'Europe/Amsterdam', max_connections: '20' })

test('every session is in UTC and has its time-outs, whatever the server says', async () => {
  const { rows } = await own.database.pool.query(
    `select name, setting from pg_settings where name = any($1) order by name`,
    [['TimeZone', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']],
  )
  expect(rows).toEqual([
    { name: 'TimeZone', setting: 'UTC' },
    { name: 'idle_in_transaction_session_timeout', setting: '60000' },
    { name: 'lock_timeout', setting: '10000' },
    { name: 'statement_timeout', setting: '30000' },
  ])
})

test('behind a pooler the role must say it, and the refusal says how', async () => {
  await own.pool.query(`create role behind_pooler login password 'secret'`)
  const url = new URL(own.url)
  url.username = 'behind_pooler'
  url.password = 'secret'
  const options = { url: url.href, max: 1, applicationName: 'test', preparedStatements: false }
  const refused = new Database(options)
  const error: unknown = await refused.pool.query('select 1').catch((reason: unknown) => reason)
  await refused.close()
  expect(error).toBeInstanceOf(StartupError)
  const { why, next } = error as StartupError
  expect(why).toBe(
    'Its timezone is Europe/Amsterdam, statement_timeout is off, lock_timeout is off, ' +
      'idle_in_transaction_session_timeout is off.',
  )

  // The way out that the sentence names is the way out.
  await own.pool.query(next.slice(next.indexOf('alter role')))
  const accepted = new Database(options)
  expect((await accepted.pool.query('show timezone')).rows).toEqual([{ TimeZone: 'UTC' }])
  await accepted.close()
})

test('connections: what cannot fit is said before it hurts', async () => {
  const fits = await checkConnections(own.url, { requests: 8, 'worker threads': 8 })
  expect(fits).toEqual({
    planned: 16,
    allowed: 17,
    summary: '16 of 17 database connections (requests 8, worker threads 8)',
  })
  await expect(checkConnections(own.url, { requests: 10, 'worker threads': 8 })).rejects.toThrow(
    'It wants 18 (requests 10, worker threads 8) and max_connections leaves 17.',
  )
})

test('connections: the limit of a role counts too', async () => {
  await own.pool.query(`create role narrow login password 'secret' connection limit 3`)
  const url = new URL(own.url)
  url.username = 'narrow'
  url.password = 'secret'
  await expect(checkConnections(url.href, { requests: 4 })).rejects.toThrow('the limit of the role leaves 3.')
})

test('a server that restarts breaks no process: the pool connects anew', async () => {
  await own.database.pool.query('select 1')
  await own.restart()
  await expect.poll(() => own.database.pool.query('select 1 as n').then(({ rows }) => rows, String)).toEqual([{ n: 1 }])
})
