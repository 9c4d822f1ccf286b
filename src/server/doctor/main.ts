import type pg from 'pg'
import {
  connect,
  EmbeddedPostgres,
  projectFolder,
  type Queryable,
  queryable,
  requireMigrated,
  StartupError,
} from '../../database/index.ts'
import { printFailure } from '../command-line.ts'
import { readConfiguration } from '../configuration.ts'
import { CHECKS, examine, exitCodeOf, type Examination } from './examine.ts'

// `npm run doctor`: looks at the database of this installation and says what is wrong, and what to do.
//
//   npm run doctor -- [--json] [--strict]
//
// Exit codes: 0 nothing bad, 1 something is (with --strict a warning too), 2 it could not look.

const MARKS = { good: 'good   ', warning: 'WARNING', bad: 'BAD    ' }

async function run(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => arg !== '--json' && arg !== '--strict')
  if (unknown !== undefined)
    throw new StartupError(
      `The argument "${unknown}" means nothing here.`,
      'The doctor knows --json and --strict.',
      'For example: npm run doctor -- --json',
    )
  const configuration = readConfiguration(process.env)
  const url = configuration.databaseUrl ?? urlOfEmbedded(configuration.embeddedName)
  const client = await connect(url, 'regie doctor')
  try {
    await requireMigrated(url)
    const found: Examination[] = []
    for (const check of CHECKS) found.push(...(await reading(client, (database) => examine(database, [check]))))
    process.stdout.write(args.includes('--json') ? `${JSON.stringify(found, null, 2)}\n` : textOf(found))
    return exitCodeOf(found, args.includes('--strict'))
  } finally {
    await client.end()
  }
}

/** In a transaction, because behind a pooler what a session is set to goes on to whoever has that session next. */
async function reading<T>(client: pg.Client, look: (database: Queryable) => Promise<T>): Promise<T> {
  await client.query(`begin read only; set local statement_timeout = '30s'`)
  try {
    return await look(queryable(client, false))
  } finally {
    await client.query('rollback')
  }
}

function urlOfEmbedded(name: string): string {
  const url = EmbeddedPostgres.urlOfRunning({ project: projectFolder(), name })
  if (url !== null) return url
  throw new StartupError(
    'There is no running database to look at.',
    'DATABASE_URL is not set, and the embedded PostgreSQL of this folder does not run.',
    'Start Regie first (npm start), or set DATABASE_URL.',
  )
}

function textOf(found: readonly Examination[]): string {
  const width = Math.max(...found.map(({ check }) => check.length))
  return found
    .map(({ check, finding: { state, says, next } }) => {
      const line = `${MARKS[state]} ${check.padEnd(width)}  ${says}\n`
      return next === undefined ? line : `${line}${' '.repeat(MARKS.good.length + width + 3)}${next}\n`
    })
    .join('')
}

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  printFailure(error, (line) => process.stderr.write(`${line}\n`))
  process.exitCode = 2
}
