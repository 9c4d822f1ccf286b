import { createPublicKey } from 'node:crypto'
import { z } from 'zod'
import { StartupError } from '../database/index.ts'
import { DEFAULT_LIMITS, type ServerLimits } from './limits.ts'
import { isLoopback } from './loopback.ts'
import { MAIL_FROM, type MailSettings, SMTP_URL } from './mail-settings.ts'
import { nearest } from './nearest.ts'
import { VARIABLES, type Variable } from './variables.ts'

export type Role = 'api' | 'worker' | 'all'

/** Where tokens come from: an identity provider, or this process itself on a developer's machine. */
export type TokenSource =
  | { readonly kind: 'development'; readonly issuer: string; readonly audience: string }
  | {
      readonly kind: 'provider'
      readonly keys: { readonly jwksUrl: string } | { readonly publicKeyPem: string }
      readonly issuer: string
      readonly audience: string
      readonly algorithms: readonly string[]
      readonly tenantClaim: string
      readonly rolesClaim: string
      readonly emailClaim: string
    }

/** What of the configuration the domains go by, in the process and in its worker threads. */
export type DomainSettings = Pick<Configuration, 'mail' | 'mailLocale' | 'draftReminderDays'>

/** Everything that can be set, read once at start. */
export interface Configuration {
  /** Null: the embedded PostgreSQL. */
  readonly databaseUrl: string | null
  /** Which embedded PostgreSQL, when it is one. */
  readonly embeddedName: string
  readonly preparedStatements: boolean
  /** Connections for requests; the worker threads and the tail have their own. */
  readonly connections: number
  readonly migrate: boolean
  readonly host: string
  readonly port: number
  readonly metricsPort: number | null
  readonly role: Role
  readonly threads: number
  readonly concurrency: number
  readonly connectionsPerThread: number
  readonly tokens: TokenSource
  readonly allowedOrigins: readonly string[]
  readonly introspection: boolean
  readonly graphiql: boolean
  readonly requireOperationName: boolean
  readonly limits: ServerLimits
  readonly logLevel: string
  /** Null: made at first start and kept in the project's data folder. */
  readonly cursorSecret: string | null
  readonly notify: boolean
  /** Null: no mail goes out. */
  readonly mail: MailSettings | null
  readonly mailLocale: string
  /** After how many days without an edit the author of a draft is reminded of it; 0: never. */
  readonly draftReminderDays: number
  readonly drainMs: number
  /** Sentences to print at start: variables that look like ours and are not. */
  readonly warnings: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the configuration from environment variables; each may also be given with the prefix `REGIE_`, which
 * wins, for places where a plain name such as `HOST` means something else.
 * @throws StartupError that names the variable, what is wrong with it and an example
 */
export function readConfiguration(environment: Environment): Configuration {
  const read = <T>(name: Variable, type: z.ZodType<T>): T => valueOf(environment, name, type)
  const host = read('HOST', z.string().default('127.0.0.1'))
  return {
    databaseUrl: read('DATABASE_URL', DATABASE_URL.optional()) ?? null,
    embeddedName: read('EMBEDDED_NAME', EMBEDDED_NAME.default('main')),
    preparedStatements: read('DATABASE_POOLER', z.enum(['none', 'transaction']).default('none')) === 'none',
    connections: read('DATABASE_CONNECTIONS', whole(2, 500).default(20)),
    migrate: read('MIGRATE', SWITCH.default(true)),
    host,
    port: read('PORT', whole(0, 65_535).default(4000)),
    metricsPort: read('METRICS_PORT', whole(1, 65_535).optional()) ?? null,
    role: read('ROLE', z.enum(['api', 'worker', 'all']).default('all')),
    threads: read('THREADS', whole(0, 64).default(2)),
    concurrency: read('CONCURRENCY', whole(1, 256).default(16)),
    connectionsPerThread: read('THREAD_CONNECTIONS', whole(3, 64).default(8)),
    tokens: tokenSource(read, host),
    allowedOrigins: read('ALLOWED_ORIGINS', ORIGINS.default([])),
    introspection: read('INTROSPECTION', SWITCH.default(isLoopback(host))),
    graphiql: read('GRAPHIQL', SWITCH.default(isLoopback(host))),
    requireOperationName: read('REQUIRE_OPERATION_NAME', SWITCH.default(false)),
    limits: {
      ...DEFAULT_LIMITS,
      operationMs: read('OPERATION_TIMEOUT_MS', whole(100, 600_000).default(DEFAULT_LIMITS.operationMs)),
      depth: read('MAX_DEPTH', whole(1, 100).default(DEFAULT_LIMITS.depth)),
      aliases: read('MAX_ALIASES', whole(0, 1_000).default(DEFAULT_LIMITS.aliases)),
      bodyBytes: read('MAX_BODY_BYTES', whole(1_024, 16 * 1024 * 1024).default(DEFAULT_LIMITS.bodyBytes)),
      connectionsPerSubject: read(
        'MAX_CONNECTIONS_PER_SUBJECT',
        whole(1, 100_000).default(DEFAULT_LIMITS.connectionsPerSubject),
      ),
      subscriptionsPerConnection: read(
        'MAX_SUBSCRIPTIONS_PER_CONNECTION',
        whole(1, 1_000).default(DEFAULT_LIMITS.subscriptionsPerConnection),
      ),
    },
    logLevel: read('LOG_LEVEL', z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info')),
    cursorSecret: read('CURSOR_SECRET', z.string().min(16, 'needs at least 16 characters').optional()) ?? null,
    notify: read('NOTIFY', SWITCH.default(false)),
    ...domainSettings(read),
    drainMs: read('DRAIN_MS', whole(0, 600_000).default(10_000)),
    warnings: unknownVariables(environment),
  }
}

/** As `readConfiguration`, of the domains' part alone: what each worker thread reads. @throws StartupError */
export const readDomainSettings = (environment: Environment): DomainSettings =>
  domainSettings((name, type) => valueOf(environment, name, type))

function domainSettings(read: Read): DomainSettings {
  const server = read('SMTP_URL', SMTP_URL.optional())
  return {
    mail: server === undefined ? null : { server, sender: read('MAIL_FROM', MAIL_FROM) },
    mailLocale: read('MAIL_LOCALE', z.enum(['en', 'nl']).default('en')),
    draftReminderDays: read('DRAFT_REMINDER_DAYS', whole(0, 365).default(7)),
  }
}

const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= least && n <= most, `must be from ${least} to ${most}`)

const SWITCH = z
  .enum(['on', 'off', 'true', 'false', '1', '0'], 'must be "on" or "off"')
  .transform((text) => text === 'on' || text === 'true' || text === '1')

const EMBEDDED_NAME = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 letters a to z, digits or hyphens')

const DATABASE_URL = z
  .string()
  .refine(
    (text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text),
    'must be an address that begins with postgresql://',
  )

const ORIGINS = z
  .string()
  .transform((text) => text.split(/[\s,]+/).filter((origin) => origin !== ''))
  .refine(
    (origins) => origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin),
    'must be a list of origins, each scheme and host without a path',
  )

// Asymmetric only: with a shared secret, whoever can check a token could make one.
const ALGORITHMS = z
  .string()
  .transform((text) => text.split(/[\s,]+/).filter((name) => name !== ''))
  .pipe(
    z.array(z.enum(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'])).min(1),
  )

// Keys that came over an open line could be anybody's.
const JWKS_URL = z.string().refine((text) => {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}, 'must be an address that begins with https://')

const PUBLIC_KEY = z
  .string()
  .transform((text) => text.replaceAll('\\n', '\n'))
  .refine((text) => {
    try {
      return text.includes('BEGIN PUBLIC KEY') && createPublicKey(text).type === 'public'
    } catch {
      return false
    }
  }, 'must be a public key in PEM (SPKI) form')

type Read = <T>(name: Variable, type: z.ZodType<T>) => T

function tokenSource(read: Read, host: string): TokenSource {
  const jwksUrl = read('JWT_JWKS_URL', JWKS_URL.optional())
  const publicKeyPem = read('JWT_PUBLIC_KEY', PUBLIC_KEY.optional())
  const hasProvider = jwksUrl !== undefined || publicKeyPem !== undefined
  const development = read('DEVELOPMENT_TOKENS', SWITCH.default(!hasProvider))
  if (development) return developmentSource(hasProvider, host)
  if (!hasProvider)
    throw new StartupError(
      'Regie does not know whose tokens to accept.',
      'DEVELOPMENT_TOKENS is off, and neither JWT_JWKS_URL nor JWT_PUBLIC_KEY is set.',
      'Set one, for example JWT_JWKS_URL=https://login.example.org/.well-known/jwks.json, with JWT_ISSUER and JWT_AUDIENCE.',
    )
  const needed = z.string({ error: 'must be set together with the key' }).min(1)
  return {
    kind: 'provider',
    keys: jwksUrl === undefined ? { publicKeyPem: publicKeyPem! } : { jwksUrl },
    issuer: read('JWT_ISSUER', needed),
    audience: read('JWT_AUDIENCE', needed),
    algorithms: read('JWT_ALGORITHMS', ALGORITHMS.default(['RS256'])),
    tenantClaim: read('JWT_TENANT_CLAIM', z.string().min(1).default('tenant')),
    rolesClaim: read('JWT_ROLES_CLAIM', z.string().min(1).default('roles')),
    emailClaim: read('JWT_EMAIL_CLAIM', z.string().min(1).default('email')),
  }
}

function developmentSource(hasProvider: boolean, host: string): TokenSource {
  if (hasProvider)
    throw new StartupError(
      'Regie cannot accept two kinds of tokens.',
      'DEVELOPMENT_TOKENS is on and a key of an identity provider is set.',
      'Remove one of the two.',
    )
  if (!isLoopback(host))
    throw new StartupError(
      'Regie does not make development tokens here.',
      `It would listen on ${host}, where other machines could use them, and no identity provider is set.`,
      'Set JWT_JWKS_URL, JWT_ISSUER and JWT_AUDIENCE, or listen on this machine only with HOST=127.0.0.1.',
    )
  return { kind: 'development', issuer: 'regie-development', audience: 'regie' }
}

function valueOf<T>(environment: Environment, name: Variable, type: z.ZodType<T>): T {
  const text = environment[`REGIE_${name}`] ?? environment[name]
  const result = type.safeParse(text === '' ? undefined : text)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const found = text === undefined || text === '' ? 'It is not set' : `It is "${shown(name, text)}"`
  throw new StartupError(
    `The variable ${name} is not right.`,
    `${found}; it ${sentenceOf(issue)}.`,
    `For example: ${name}=${VARIABLES[name].example}`,
  )
}

// A value that holds a password or a key must not end up in somebody's terminal log.
const shown = (name: Variable, text: string): string =>
  'secret' in VARIABLES[name] ? '(not shown)' : text.length > 60 ? `${text.slice(0, 60)}…` : text

function sentenceOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'invalid_value' && !issue.message.startsWith('must'))
    return `must be one of ${issue.values.join(', ')}`
  return issue?.message ?? 'cannot be read'
}

function unknownVariables(environment: Environment): string[] {
  const known = Object.keys(VARIABLES)
  return Object.keys(environment)
    .filter((name) => name.startsWith('REGIE_') && !Object.hasOwn(VARIABLES, name.slice('REGIE_'.length)))
    .map((name) => {
      const near = nearest(name.slice('REGIE_'.length), known)
      const hint = near === null ? 'docs/operating.md lists the variables.' : `Did you mean REGIE_${near}?`
      return `The variable ${name} means nothing to this version. ${hint}`
    })
}
