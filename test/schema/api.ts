import { graphql, subscribe, parse, type ExecutionResult } from 'graphql'
import type pg from 'pg'
import { v7 } from 'uuid'
import { afterAll, beforeAll } from 'vitest'
import { composeDrafts, createInitialVersion } from '../../src/domain/organisation/index.ts'
import { CursorCodec, EventFeed } from '../../src/events/index.ts'
import { makeContext, operatedJobs, schema, type ApiContext, type OperatedJobs } from '../../src/schema/index.ts'
import type { AnyJobDefinition } from '../../src/jobs/index.ts'
import type { Viewer } from '../../src/viewer/index.ts'
import { useDatabase, type TestDatabase } from '../harness/database.ts'
import type { Json } from './json.ts'

export interface Asking {
  readonly tenantId: string | null
  readonly subject: string
  readonly roles: readonly string[]
}

export interface Api {
  readonly db: TestDatabase
  readonly feed: EventFeed
  /** Runs an operation in process, as the server would. Null asks without a token. */
  ask(as: Asking | null, source: string, variables?: Record<string, unknown>): Promise<Answer>
  /** Opens a subscription; an error instead of a stream comes as its answer. */
  follow(as: Asking, source: string, variables?: Record<string, unknown>): Promise<AsyncIterableIterator<Answer>>
  /** As `ask`, with the SQL statements that it took. */
  counted(as: Asking, source: string, variables?: Record<string, unknown>): Promise<{ answer: Answer; sql: string[] }>
  /** A new tenant with its first version. */
  tenant(name: string): Promise<Asking>
}

export type Answer = ExecutionResult<Record<string, Json>>

export const OPERATOR: Asking = { tenantId: null, subject: 'root', roles: ['operator'] }

const CREATE_TENANT = /* GraphQL */ `
  mutation CreateTenant($name: String!) {
    createTenant(input: { name: $name }) {
      ... on CreateTenantSuccess {
        tenant {
          uuid
        }
      }
      ... on UserError {
        message
      }
    }
  }
`

/** The API over a database of its own; `definitions` are known to it besides the domains' own. */
export function useApi(definitions: readonly AnyJobDefinition[] = []): Api {
  const db = useDatabase()
  const drafts = composeDrafts()
  const cursors = new CursorCodec('a secret for tests only')
  let feed: EventFeed
  let jobs: OperatedJobs
  const sql: string[] = []

  const context = (as: Asking | null): Promise<ApiContext> => {
    const correlationId = v7()
    const issued = new Date()
    const identity = as && {
      subject: as.subject,
      roles: as.roles,
      correlationId,
      tokenIssuedAt: issued,
      tokenExpiresAt: new Date(issued.getTime() + 60_000),
    }
    const viewer: Viewer | null = identity && as.tenantId !== null ? { ...identity, tenantId: as.tenantId } : null
    return makeContext({
      viewer,
      operator: identity !== null && identity.roles.includes('operator') ? identity : null,
      correlationId,
      signal: new AbortController().signal,
      log: { warn: () => {}, error: () => {} },
      database: db.database,
      feed,
      cursors,
      drafts,
      tenantHooks: [createInitialVersion],
      jobs,
    })
  }
  const ask: Api['ask'] = async (as, source, variableValues) =>
    (await graphql({ schema, source, variableValues: variableValues ?? {}, contextValue: await context(as) })) as Answer

  beforeAll(async () => {
    listen(db.database.pool, sql)
    feed = new EventFeed({ database: db.database, codec: cursors })
    await feed.start()
    jobs = operatedJobs(db.database, cursors, [drafts.resolutionJob, ...definitions])
  })
  afterAll(async () => {
    jobs.events.stop()
    jobs.counts.stop()
    await feed.stop()
  })
  return {
    get db() {
      return db
    },
    get feed() {
      return feed
    },
    ask,
    follow: async (as, source, variableValues) => {
      const stream = await subscribe({
        schema,
        document: parse(source),
        variableValues: variableValues ?? {},
        contextValue: await context(as),
      })
      return Symbol.asyncIterator in stream ? (stream as AsyncIterableIterator<Answer>) : one(stream as Answer)
    },
    counted: async (as, source, variables) => {
      // The tail reads on its own account.
      await feed.stop()
      sql.length = 0
      const answer = await ask(as, source, variables)
      const taken = [...sql]
      await feed.start()
      return { answer, sql: taken }
    },
    tenant: async (name) => {
      const answer = await ask(OPERATOR, CREATE_TENANT, { name })
      const tenantId: string = answer.data?.['createTenant'].tenant.uuid
      return { tenantId, subject: 'ada', roles: ['administrator'] }
    },
  }
}

async function* one(answer: Answer): AsyncGenerator<Answer> {
  yield answer
}

/** Notes every statement that the pool's connections send, whoever sends it: Prisma or Regie's own SQL. */
function listen(pool: pg.Pool, sql: string[]): void {
  const hear = (client: pg.ClientBase) => {
    const { query } = client
    client.query = ((...args: unknown[]) => {
      const [first] = args
      const text = typeof first === 'string' ? first : (first as { text?: string } | undefined)?.text
      if (text !== undefined && !/^(begin|commit|rollback|set )/i.test(text)) sql.push(text)
      return (query as (...all: unknown[]) => unknown).apply(client, args)
    }) as typeof query
  }
  pool.on('connect', hear)
}
