import { Database } from '../../src/database/index.ts'
import { Engine } from '../../src/jobs/index.ts'
import { controlled, DONE } from './resolutions-controlled.ts'

// A process that carries out resolutions until it reaches the point named, and dies there as if the power failed.
const [, , url, point] = process.argv
const die = () => process.kill(process.pid, 'SIGKILL')

// Never reaching the point is an answer too.
setTimeout(() => process.exit(3), 20_000).unref()

let commits = 0
const drafts = controlled({
  async execute() {
    if (point === 'in the action') die()
    return DONE
  },
})
const engine = new Engine({
  database: new Database({ url: url!, max: 6, applicationName: 'victim', preparedStatements: true }),
  definitions: [drafts.resolutionJob],
  logger: { info() {}, warn() {}, error() {} },
  onCommitted() {
    commits += 1
    if (point === 'after the first commit' && commits === 1) die()
    if (point === 'after the last commit' && commits === 2) die()
  },
  signal: (signal) => {
    if (point === 'before the first commit' && signal.kind === 'BEGAN') die()
  },
})
await engine.start()
