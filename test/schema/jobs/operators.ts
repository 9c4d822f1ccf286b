import type { Api, Answer } from '../api.ts'
import { OPERATOR } from '../api.ts'
import type { Json } from '../json.ts'
import { Failure } from '../../../src/errors/index.ts'
import { failed, succeeded } from '../../../src/jobs/index.ts'
import { testJob } from '../../jobs/support.ts'

/** Ends well. */
export const WORKS = testJob('api.works', { run: async () => succeeded() })
/** Fails for good at its first attempt, unless an operator's retry finds `mended`. */
export const mended = new Set<number>()
export const FAILS = testJob('api.fails', {
  run: async ({ n }) => (mended.has(n) ? succeeded() : failed('api.broken', 'The thing is broken. Mend it.')),
  stillValid: async (_tx, { n }) => (n === GONE ? 'The thing that it was for is gone.' : null),
})
/** The number whose domain no longer wants it. */
export const GONE = 666
/** Throws what must not be seen. */
export const LEAKS = testJob('api.leaks', {
  run: async () => {
    throw new Failure('PERMANENT', 'api.leak', 'It failed.', {
      cause: new Error('password=hunter2 of ada@example.org, Bearer abcdefghijklmnop1234567890'),
    })
  },
})
/** Nobody runs it here: it waits. */
export const WAITS = testJob('api.waits')

export const DEFINITIONS = [WORKS, FAILS, LEAKS, WAITS]

/** Asks as an operator without a tenant. What is refused at the top fails the test. */
export async function operate(api: Api, source: string, variables: Record<string, unknown> = {}): Promise<Json> {
  const { data, errors } = await api.ask(OPERATOR, source, variables)
  if (errors !== undefined) throw new Error(JSON.stringify(errors))
  return data
}

export const reasonOf = ({ errors }: Answer): unknown => errors?.[0]?.extensions['reason']
export const codeOf = ({ errors }: Answer): unknown => errors?.[0]?.extensions['code']
