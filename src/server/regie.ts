import { join } from 'node:path'
import { projectFolder, StartupError, type Database } from '../database/index.ts'
import { CursorCodec, EventFeed } from '../events/index.ts'
import { jobHints, type Jobs } from '../jobs/host/index.ts'
import type { OperatedJobs } from '../schema/index.ts'
import { makeTokenVerifier, type TokenRules } from '../viewer/index.ts'
import { authenticating } from './callers.ts'
import type { Configuration } from './configuration.ts'
import { openDatabase } from './database-service.ts'
import { openDevelopmentIssuer, type DevelopmentClaims, type DevelopmentIssuer } from './development-issuer.ts'
import { databaseAnswers, feedKeepsUp } from './health.ts'
import { RegieServer } from './http-server.ts'
import type { Incoming } from './incoming.ts'
import { jobFigures, showJobFigures } from './job-metrics.ts'
import { makeLog, type Logger } from './log.ts'
import { Metrics } from './metrics.ts'
import { keptSecret, randomSecret } from './secrets.ts'
import { Teardown } from './teardown.ts'
import { watchWatermark } from './watermark-watch.ts'

/** A running Regie. */
export interface Regie {
  /** `http://127.0.0.1:4000` */
  readonly url: string
  readonly graphqlUrl: string
  readonly webSocketUrl: string
  readonly databaseUrl: string
  readonly database: Database
  readonly configuration: Configuration
  readonly log: Logger
  /** A token of the development issuer. @throws StartupError when an identity provider is configured */
  developmentToken(claims: DevelopmentClaims): Promise<string>
  /** Stops everything that was started, in the opposite order. Safe to call again. */
  stop(): Promise<void>
}

/** The project's own folder for what is made at first start. */
const dataFolder = (): string => join(projectFolder(), '.data')

/**
 * Starts what the configuration's role asks for, in order: database, migrations, event feed, worker threads, and
 * last the server, so that nobody is let in before everything is there. When a part cannot start, what had been
 * started is stopped again.
 * @throws StartupError
 */
export async function startRegie(configuration: Configuration, options: { logger?: Logger } = {}): Promise<Regie> {
  const log = options.logger ?? makeLog({ level: configuration.logLevel })
  const teardown = new Teardown(log)
  try {
    return await start(configuration, log, teardown)
  } catch (error) {
    await teardown.run()
    throw error
  }
}

async function start(configuration: Configuration, log: Logger, teardown: Teardown): Promise<Regie> {
  for (const warning of configuration.warnings) log.warn(warning)
  const { role } = configuration
  const threads = role === 'api' ? 0 : configuration.threads
  if (threads > 0 && configuration.mail === null)
    log.warn('SMTP_URL is not set: no mail goes out. What is planned is cancelled with mail.not_configured.')
  const { url: databaseUrl, database } = await openDatabase(configuration, threads, log, teardown)
  const metrics = new Metrics()
  const issuer = await openIssuer(configuration)

  const codec = new CursorCodec(await cursorSecret(configuration, log))
  const feed = role === 'worker' ? null : await startFeed({ configuration, database, codec, metrics, log }, teardown)
  const operated = feed === null ? null : await openOperatedJobs(database, codec, teardown)
  const onCommitted = () => {
    feed?.hint()
    operated?.events.hint()
  }
  const jobs = await startThreads({ configuration, databaseUrl, threads, log, onCommitted }, teardown)
  metrics.watch({ pool: database.pool, feed, operated, jobs })
  showJobFigures(metrics.registry, {
    read: () => jobFigures(database),
    onFailure: (error) => log.warn({ err: error }, 'cannot read the state of the jobs for the metrics'),
  })

  const server = new RegieServer({
    api:
      feed === null || operated === null
        ? null
        : await apiOf({ configuration, database, issuer, feed, codec, jobs, operated }),
    host: configuration.host,
    port: configuration.port,
    metricsPort: configuration.metricsPort,
    readiness: [databaseAnswers(database), ...(feed === null ? [] : [feedKeepsUp(feed)])],
    drainMs: configuration.drainMs,
    metrics,
    log,
  })
  teardown.add('server', () => server.stop())
  const { url } = await server.start()
  const connections = server.connections
  if (connections !== null) {
    const stopWatching = connections.watchRevocations(database, LOOK_FOR_REVOCATIONS_MS, log)
    teardown.add('revocations', async () => stopWatching())
  }
  log.info({ url, role, threads }, 'listening')
  return {
    url,
    graphqlUrl: `${url}/graphql`,
    webSocketUrl: `${url.replace(/^http/, 'ws')}/graphql`,
    databaseUrl,
    database,
    configuration,
    log,
    developmentToken: async (claims) => {
      if (issuer !== null) return issuer.token(claims)
      throw new StartupError(
        'This server makes no tokens.',
        'An identity provider is configured.',
        'Ask it for a token.',
      )
    },
    stop: () => teardown.run(),
  }
}

const LOOK_FOR_REVOCATIONS_MS = 2_000

/** Not behind a pooler in transaction mode, which cannot listen. */
const hintsAllowed = ({ notify, preparedStatements }: Configuration): boolean => notify && preparedStatements

async function openIssuer({ tokens }: Configuration): Promise<DevelopmentIssuer | null> {
  return tokens.kind === 'development' ? openDevelopmentIssuer(dataFolder(), tokens) : null
}

async function cursorSecret(configuration: Configuration, log: Logger): Promise<string> {
  if (configuration.cursorSecret !== null) return configuration.cursorSecret
  if (configuration.databaseUrl !== null && configuration.tokens.kind === 'provider')
    log.warn('CURSOR_SECRET is not set: cursors given out here mean nothing to other processes on this database.')
  return keptSecret(dataFolder(), 'cursor-secret', randomSecret)
}

interface FeedParts {
  readonly configuration: Configuration
  readonly database: Database
  readonly codec: CursorCodec
  readonly metrics: Metrics
  readonly log: Logger
}

async function startFeed({ configuration, database, codec, metrics, log }: FeedParts, teardown: Teardown) {
  const feed = new EventFeed({
    database,
    codec,
    notify: hintsAllowed(configuration),
    logger: log,
    onRead: ({ events, lagSeconds }) => metrics.eventsRead(events, lagSeconds),
  })
  teardown.add('event feed', () => feed.stop())
  teardown.add('watermark', watchWatermark(database, metrics, log))
  await feed.start()
  return feed
}

async function openOperatedJobs(database: Database, codec: CursorCodec, teardown: Teardown): Promise<OperatedJobs> {
  const { operatedJobs } = await import('../schema/index.ts')
  const { jobDefinitions } = await import('./job-definitions.ts')
  const operated = operatedJobs(database, codec, jobDefinitions)
  teardown.add('streams of jobs', async () => {
    operated.events.stop()
    operated.counts.stop()
  })
  return operated
}

interface ThreadParts {
  readonly configuration: Configuration
  readonly databaseUrl: string
  readonly threads: number
  readonly log: Logger
  readonly onCommitted: () => void
}

async function startThreads(parts: ThreadParts, teardown: Teardown): Promise<Jobs | null> {
  if (parts.threads === 0) return null
  // Loaded only where it is used: a process with the API alone has no need of the engine.
  const { startJobs } = await import('../jobs/host/index.ts')
  const jobs = await startJobs({
    databaseUrl: parts.databaseUrl,
    preparedStatements: parts.configuration.preparedStatements,
    threads: parts.threads,
    concurrencyPerThread: parts.configuration.concurrency,
    connectionsPerThread: parts.configuration.connectionsPerThread,
    notify: hintsAllowed(parts.configuration),
    definitionsModule: join(projectFolder(), 'dist', 'src', 'server', 'job-definitions.js'),
    logger: parts.log,
    onCommitted: parts.onCommitted,
  })
  teardown.add('worker threads', () => jobs.stop(parts.configuration.drainMs))
  return jobs
}

interface ApiParts {
  readonly configuration: Configuration
  readonly database: Database
  readonly issuer: DevelopmentIssuer | null
  readonly feed: EventFeed
  readonly codec: CursorCodec
  readonly jobs: Jobs | null
  readonly operated: OperatedJobs
}

async function apiOf({ configuration, database, issuer, feed, codec, jobs, operated }: ApiParts) {
  const { makeContext, schema } = await import('../schema/index.ts')
  const { drafts, tenantHooks } = await import('./composition.ts')
  const { draftResolutions } = await import('./rest/draft-resolutions.ts')
  const hints = jobs === null && hintsAllowed(configuration) ? jobHints(database.pool) : null
  const verify = makeTokenVerifier(tokenRules(configuration, issuer))
  const { allowedOrigins, introspection, graphiql, requireOperationName, limits } = configuration
  return {
    schema,
    context: (incoming: Incoming) =>
      makeContext({ ...incoming, database, feed, cursors: codec, drafts, tenantHooks, jobs: operated }),
    afterMutation: () => (jobs === null ? hints?.announce() : jobs.wake()),
    authenticate: authenticating(verify, database),
    rest: [draftResolutions(drafts, database)],
    allowedOrigins,
    introspection,
    graphiql,
    requireOperationName,
    limits,
  }
}

function tokenRules({ tokens }: Configuration, issuer: DevelopmentIssuer | null): TokenRules {
  if (tokens.kind === 'provider') return tokens
  return {
    keys: { key: issuer!.publicKey },
    issuer: tokens.issuer,
    audience: tokens.audience,
    algorithms: ['EdDSA'],
    tenantClaim: 'tenant',
    rolesClaim: 'roles',
    emailClaim: 'email',
  }
}
