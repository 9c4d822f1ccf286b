import { expect, test } from 'vitest'
import { useServer } from '../harness/server.ts'

const own = useServer()

test('a server of its own is stopped, killed and started again, and keeps what was committed', async () => {
  await own.pool.query(`create table kept (n int)`)
  await own.pool.query(`insert into kept values (1)`)
  await own.restart()
  await own.pool.query(`insert into kept values (2)`)
  await own.kill()
  await expect(own.pool.query('select 1')).rejects.toThrow()
  await own.start()
  const { rows } = await own.pool.query('select n from kept order by n')
  expect(rows).toEqual([{ n: 1 }, { n: 2 }])
})
