// The linter, and with it the arrows of docs/concepts.md: each folder imports from those below it only, and from
// their index.ts only. A program, since the rules follow from two short lists. Run it with: npm run lint

/** From top to bottom. */
const LAYERS = ['server', 'schema', 'domain', 'jobs', 'transitions', 'viewer', 'events', 'database', 'errors']

/** Which other domains a domain may not know. `conditions`, `calendars` and `mail` are what the domains share. */
const UNKNOWN_TO = {
  conditions: ['organisation', 'workflows', 'lifecycles', 'notifications', 'calendars', 'mail'],
  calendars: ['organisation', 'workflows', 'lifecycles', 'notifications', 'conditions', 'mail'],
  mail: ['organisation', 'workflows', 'lifecycles', 'notifications', 'conditions', 'calendars'],
  organisation: ['workflows', 'lifecycles', 'notifications'],
  workflows: ['lifecycles', 'notifications'],
  lifecycles: ['notifications'],
  notifications: ['lifecycles'],
}
const DOMAINS = Object.keys(UNKNOWN_TO)

const within = (folders) => `^(\\.\\./)+(${folders.join('|')})/`

const above = (layer) => ({
  regex: within(LAYERS.slice(0, LAYERS.indexOf(layer))),
  message: `Imports point down: src/${layer} stands below what it imports here.`,
})

/** What lies behind the index.ts of these folders. A negation lifts every other pattern: give it disjoint folders. */
const behind = (folders, parent = '') => ({
  group: folders.flatMap((folder) => [`**/../${parent}${folder}/**`, `!**/../${parent}${folder}/**/index.ts`]),
  message: 'Import from the index.ts of that folder: what it does not export is its own business.',
})

const connections = [
  {
    regex: '^@prisma/|/generated/prisma/',
    allowTypeImports: true,
    message: 'Only src/database makes Prisma clients: take `tx.prisma` or `database.forTenant`.',
  },
  {
    regex: '^pg$',
    allowTypeImports: true,
    message: 'Only src/database opens connections: take a `Database` or a `Queryable`.',
  },
]

const transports = {
  regex: '^(node:)?https?$|^(node:)?http2$|^graphql(-.*)?$|^@graphql-|^@pothos/|^(ws|pino)$',
  message: 'A domain knows no GraphQL, no HTTP and no logger.',
}

const refuse = (files, patterns) => ({ files: [files], rules: { 'no-restricted-imports': ['error', { patterns }] } })

function arrowsOf(layer) {
  const rules = layer === 'server' ? [] : [above(layer)]
  if (layer !== 'database') rules.push(...connections)
  // src/schema has a folder `errors` of its own, which a pattern cannot tell from src/errors.
  const below = LAYERS.slice(LAYERS.indexOf(layer) + 1).filter(
    (folder) => folder !== 'domain' && !(layer === 'schema' && folder === 'errors'),
  )
  if (below.length > 0) rules.push(behind(below))
  if (layer === 'server' || layer === 'schema') rules.push(behind(DOMAINS, 'domain/'))
  if (layer !== 'domain') return [refuse(`src/${layer}/**`, rules)]
  rules.unshift(transports)
  return [
    refuse('src/domain/**', [...rules, behind(DOMAINS)]),
    ...Object.entries(UNKNOWN_TO).map(([domain, unknown]) => {
      const known = DOMAINS.filter((other) => other !== domain && !unknown.includes(other))
      const message = 'Domains meet in one direction: organisation ← workflows ← lifecycles, notifications.'
      const faces = known.length > 0 ? [behind(known)] : []
      return refuse(`src/domain/${domain}/**`, [{ regex: within(unknown), message }, ...rules, ...faces])
    }),
  ]
}

export default {
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'promise'],
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  env: { node: true, es2024: true },
  ignorePatterns: ['.*', 'dist', 'node_modules', 'src/database/generated', 'client/src/generated', 'examples/data'],
  categories: { correctness: 'error' },
  rules: {
    eqeqeq: ['error', 'always', { null: 'ignore' }],
    'import/no-cycle': ['error', { ignoreTypes: true }],
    'import/no-self-import': 'error',
    'no-console': 'error',
    'no-unused-vars': [
      'error',
      { argsIgnorePattern: '^_', varsIgnorePattern: '^_', destructuredArrayIgnorePattern: '^_' },
    ],
    'no-var': 'error',
    'prefer-const': 'error',
    'typescript/await-thenable': 'error',
    'typescript/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'unicorn/prefer-node-protocol': 'error',
    // These three see faults in code that is right: interfaces of plain functions, thenables made on purpose, and
    // copies that protect a list from its owner.
    'typescript/unbound-method': 'off',
    'unicorn/no-thenable': 'off',
    'unicorn/no-useless-spread': 'off',
  },
  overrides: [
    ...LAYERS.flatMap(arrowsOf),
    {
      files: ['bench/**', 'client/**', 'examples/**', 'scripts/**', 'simulators/**', 'test/**', '*.ts'],
      rules: { 'no-console': 'off', 'typescript/no-non-null-assertion': 'off' },
    },
    {
      // Answers of an API are any there, and what they hold is what the test finds out.
      files: ['test/**'],
      rules: {
        'typescript/no-explicit-any': 'off',
        'typescript/require-array-sort-compare': 'off',
        'typescript/restrict-template-expressions': 'off',
      },
    },
  ],
}
