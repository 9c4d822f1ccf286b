interface About {
  readonly example: string
  /** Shown in docs/operating.md, which a test compares with this list. */
  readonly standard: string
  readonly meaning: string
  /** Its value is never printed. */
  readonly secret?: true
}

/** Every environment variable that Regie reads. */
export const VARIABLES = {
  DATABASE_URL: {
    example: 'postgresql://regie:secret@localhost:5432/regie',
    standard: 'embedded PostgreSQL',
    meaning: 'The database (PostgreSQL 15 or later). Nothing embedded starts when it is set.',
    secret: true,
  },
  EMBEDDED_NAME: {
    example: 'trial',
    standard: 'main',
    meaning: 'Which embedded PostgreSQL: each name has data of its own. Without effect when `DATABASE_URL` is set.',
  },
  DATABASE_POOLER: {
    example: 'transaction',
    standard: 'none',
    meaning: '`transaction` when a pooler such as PgBouncer in transaction mode stands in between: no prepared names.',
  },
  DATABASE_CONNECTIONS: {
    example: '20',
    standard: '20',
    meaning: 'Most connections for requests, 2 to 500. Threads and the event feed have their own.',
  },
  MIGRATE: {
    example: 'off',
    standard: 'on',
    meaning: 'Whether a start applies pending migrations; `off` refuses to start instead.',
  },
  HOST: { example: '0.0.0.0', standard: '127.0.0.1', meaning: 'Address to listen on.' },
  PORT: { example: '4000', standard: '4000', meaning: 'Port to listen on; 0 takes a free one.' },
  METRICS_PORT: {
    example: '9464',
    standard: 'none',
    meaning: 'Port of `/metrics`. Not set: on PORT, for requests from this machine only.',
  },
  ROLE: {
    example: 'worker',
    standard: 'all',
    meaning: '`api` serves requests, `worker` runs jobs, `all` does both. Also `--role worker`.',
  },
  THREADS: { example: '4', standard: '2', meaning: 'Worker threads, 0 to 64.' },
  CONCURRENCY: { example: '16', standard: '16', meaning: 'Jobs that one thread runs at a time.' },
  THREAD_CONNECTIONS: {
    example: '8',
    standard: '8',
    meaning: 'Database connections of one thread; two less is how many of its jobs can be in a transaction at once.',
  },
  JWT_JWKS_URL: {
    example: 'https://login.example.org/.well-known/jwks.json',
    standard: 'none',
    meaning: 'Where the identity provider publishes its keys.',
  },
  JWT_PUBLIC_KEY: {
    example: '"-----BEGIN PUBLIC KEY-----\\n…"',
    standard: 'none',
    meaning: 'The identity provider’s key (PEM, SPKI), when there is no JWKS address.',
  },
  JWT_ISSUER: { example: 'https://login.example.org/', standard: 'none', meaning: 'What a token’s `iss` must be.' },
  JWT_AUDIENCE: { example: 'regie', standard: 'none', meaning: 'What a token’s `aud` must hold.' },
  JWT_ALGORITHMS: {
    example: 'RS256,ES256',
    standard: 'RS256',
    meaning: 'Signature algorithms accepted; asymmetric ones only.',
  },
  JWT_TENANT_CLAIM: { example: 'tenant', standard: 'tenant', meaning: 'The claim that holds the tenant’s UUID.' },
  JWT_ROLES_CLAIM: { example: 'roles', standard: 'roles', meaning: 'The claim that holds the list of roles.' },
  JWT_EMAIL_CLAIM: {
    example: 'email',
    standard: 'email',
    meaning: 'The claim that holds the mail address; a token need not have it.',
  },
  DEVELOPMENT_TOKENS: {
    example: 'off',
    standard: 'on without a key above',
    meaning: 'Tokens made by this process with a key of its own. Refused unless HOST is this machine only.',
  },
  ALLOWED_ORIGINS: {
    example: 'https://app.example.org,https://admin.example.org',
    standard: 'none',
    meaning: 'Web pages of other origins that may call (CORS, and the Origin of a WebSocket).',
  },
  INTROSPECTION: {
    example: 'off',
    standard: 'on when HOST is this machine only',
    meaning: 'Whether the schema can be asked for, and errors suggest names.',
  },
  GRAPHIQL: { example: 'off', standard: 'on when HOST is this machine only', meaning: 'The query page at `/graphql`.' },
  REQUIRE_OPERATION_NAME: { example: 'on', standard: 'off', meaning: 'Refuses operations without a name.' },
  OPERATION_TIMEOUT_MS: { example: '10000', standard: '10000', meaning: 'Longest time of one operation.' },
  MAX_DEPTH: { example: '12', standard: '12', meaning: 'Nesting of fields in one operation.' },
  MAX_ALIASES: { example: '30', standard: '30', meaning: 'Aliases in one operation.' },
  MAX_BODY_BYTES: { example: '262144', standard: '262144', meaning: 'Size of a request’s body.' },
  MAX_CONNECTIONS_PER_SUBJECT: {
    example: '20',
    standard: '20',
    meaning: 'WebSockets and event streams one subject may hold open.',
  },
  MAX_SUBSCRIPTIONS_PER_CONNECTION: { example: '50', standard: '50', meaning: 'Subscriptions on one WebSocket.' },
  LOG_LEVEL: {
    example: 'debug',
    standard: 'info',
    meaning: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
  },
  CURSOR_SECRET: {
    example: '0123456789abcdef0123456789abcdef',
    standard: 'made at first start',
    meaning: 'Signs cursors, at least 16 characters. The same for every process on one database.',
    secret: true,
  },
  NOTIFY: {
    example: 'on',
    standard: 'off',
    meaning: 'Wakes the event feeds of other processes through the database instead of by polling alone.',
  },
  SMTP_URL: {
    example: 'smtps://regie:secret@mail.example.org:465',
    standard: 'none',
    meaning: 'The mail server. Not set: no mail goes out. Needed where jobs run only.',
    secret: true,
  },
  MAIL_FROM: {
    example: 'regie@example.org',
    standard: 'none',
    meaning: 'Whom mail is from. Needed with SMTP_URL.',
  },
  MAIL_LOCALE: { example: 'nl', standard: 'en', meaning: 'Language of mails: `en` or `nl`.' },
  DRAFT_REMINDER_DAYS: {
    example: '14',
    standard: '7',
    meaning: 'Days without an edit after which, and between which, the author of a draft is reminded of it; 0 never.',
  },
  DRAIN_MS: { example: '10000', standard: '10000', meaning: 'How long a stop waits for what is under way.' },
} as const satisfies Record<string, About>

export type Variable = keyof typeof VARIABLES
