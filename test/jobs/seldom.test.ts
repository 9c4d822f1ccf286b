import { expect, test } from 'vitest'
import { saidSeldom } from '../../src/jobs/host/seldom.ts'

const away = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

test('pain 4 what is said of a database that is away is said once, other errors always', () => {
  const lines: { message: string; fields: object }[] = []
  const say = (fields: object, message: string) => void lines.push({ fields, message })
  const logger = saidSeldom({ info: say, warn: say, error: say })
  for (let n = 0; n < 1_000; n++) logger.error({ err: away() }, `The endings of ${n} jobs could not be written.`)
  for (let n = 0; n < 1_000; n++) logger.warn({ err: away() }, 'The lease could not be renewed.')
  expect(lines.map(({ message }) => message)).toEqual([
    'The endings of 0 jobs could not be written.',
    'The lease could not be renewed.',
  ])
  for (let n = 0; n < 3; n++) logger.error({ err: new Error('something else') }, 'The endings could not be written.')
  logger.info({}, 'Said.')
  expect(lines).toHaveLength(6)
})
