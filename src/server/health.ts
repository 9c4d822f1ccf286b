import { statement, type Queryable } from '../database/index.ts'

/** One thing that must hold before requests are sent here. */
export interface ReadinessCheck {
  readonly name: string
  /** Resolves to null when it holds, else to the reason in a few words. */
  readonly check: () => Promise<string | null>
}

export interface Readiness {
  readonly ready: boolean
  /** `ok`, or why not, per check. */
  readonly checks: Readonly<Record<string, string>>
}

const LONGEST_CHECK_MS = 500

/** Asks all checks at once; one that does not answer within 500 ms does not hold. */
export async function readinessOf(checks: readonly ReadinessCheck[]): Promise<Readiness> {
  const answers = await Promise.all(
    checks.map(async ({ name, check }) => [name, (await inTime(check)) ?? 'ok'] as const),
  )
  return { ready: answers.every(([, answer]) => answer === 'ok'), checks: Object.fromEntries(answers) }
}

async function inTime(check: () => Promise<string | null>): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${LONGEST_CHECK_MS} ms`), LONGEST_CHECK_MS)
  })
  try {
    return await Promise.race([check(), late])
  } catch {
    return 'failed'
  } finally {
    clearTimeout(timer)
  }
}

const PING = statement<{ one: number }>('server.ping', 'select 1 as one')

/** Whether the database answers. */
export const databaseAnswers = (database: Queryable): ReadinessCheck => ({
  name: 'database',
  check: async () => {
    await database.run(PING, [])
    return null
  },
})

/** Whether the event feed can read the log; when it cannot, subscribers wait. */
export const feedKeepsUp = (feed: { readonly failing: boolean }): ReadinessCheck => ({
  name: 'event feed',
  check: async () => (feed.failing ? 'cannot read the log' : null),
})
