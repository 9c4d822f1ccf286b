import { EmbeddedPostgres, migrate, projectFolder } from '../database/index.ts'
import { printFailure } from './command-line.ts'
import { readConfiguration } from './configuration.ts'

// `npm run migrate`: brings the database to this version's state and ends.

async function run(): Promise<void> {
  const { databaseUrl, embeddedName } = readConfiguration(process.env)
  const embedded =
    databaseUrl === null ? await EmbeddedPostgres.start({ project: projectFolder(), name: embeddedName }) : null
  try {
    const { applied, total } = await migrate(databaseUrl ?? embedded!.url())
    for (const name of applied) process.stdout.write(`applied ${name}\n`)
    process.stdout.write(
      `The database holds all ${total} migrations${applied.length === 0 ? '; nothing was to do' : ''}.\n`,
    )
  } finally {
    await embedded?.stop()
  }
}

try {
  await run()
} catch (error) {
  printFailure(error, (line) => process.stderr.write(`${line}\n`))
  process.exitCode = 1
}
