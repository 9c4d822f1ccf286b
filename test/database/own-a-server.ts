// Run as a process by embedded-postgres.test.ts: starts the embedded server of a project and keeps it.
import { EmbeddedPostgres, StartupError } from '../../src/database/index.ts'

const [project, name] = process.argv.slice(2) as [string, string]
try {
  const server = await EmbeddedPostgres.start({ project, name })
  process.on('SIGTERM', () => void server.stop().then(() => process.exit(0)))
  process.stdout.write(`${JSON.stringify({ pid: server.pid, url: server.url() })}\n`)
  setInterval(() => {}, 60_000)
} catch (error) {
  if (!(error instanceof StartupError)) throw error
  process.stdout.write(`${JSON.stringify({ refused: error.message })}\n`)
}
