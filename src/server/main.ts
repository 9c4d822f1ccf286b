import { setTimeout as pause } from 'node:timers/promises'
import { printFailure, withArguments } from './command-line.ts'
import { readConfiguration } from './configuration.ts'
import { startRegie, type Regie } from './regie.ts'
import { welcome } from './welcome.ts'

// `npm start`: serves until it is told to stop. Only this file knows signals and exit codes.

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const complain = (line: string): void => void process.stderr.write(`${line}\n`)

const STOPPED_BY_FORCE = 130
// npm and the terminal may each pass on the same Ctrl-C; the second one counts when somebody has had time for it.
const SAME_SIGNAL_MS = 500
// A start can wait long, for another process's migration. To leave it is safe: what it began in the database is
// undone with its connection, and an embedded server ends with us.
const LONGEST_WAIT_FOR_START_MS = 5_000

let starting: Promise<Regie | null> | null = null
let stoppingSince: number | null = null

function stopOn(signal: NodeJS.Signals): void {
  process.on(signal, () => {
    if (stoppingSince === null) void stop(0)
    else if (signal === 'SIGINT' && performance.now() - stoppingSince > SAME_SIGNAL_MS) {
      complain('Stopping at once. What was under way is taken up again at the next start.')
      process.exit(STOPPED_BY_FORCE)
    }
  })
}

async function stop(exitCode: number): Promise<void> {
  stoppingSince = performance.now()
  const regie = await Promise.race([starting, pause(LONGEST_WAIT_FOR_START_MS, null)])
  await regie?.stop()
  process.exit(exitCode)
}

function fault(error: unknown): void {
  complain(`Regie stops because of a fault that it did not expect: ${String(error)}`)
  if (error instanceof Error) complain(error.stack ?? '')
  if (stoppingSince !== null) process.exit(1)
  void stop(1)
}

stopOn('SIGINT')
stopOn('SIGTERM')
process.on('uncaughtException', fault)
process.on('unhandledRejection', fault)

async function run(): Promise<Regie | null> {
  let regie: Regie | null = null
  try {
    regie = await startRegie(readConfiguration(withArguments(process.env, process.argv.slice(2))))
    // Told to stop while it was starting: there is nobody to greet.
    if (stoppingSince === null) for (const line of await welcome(regie)) say(line)
    return regie
  } catch (error) {
    printFailure(error, complain)
    await regie?.stop()
    return null
  }
}

starting = run()
if ((await starting) === null) process.exit(1)
