// npm run dev: compiles on every change and starts the server anew when it compiles.
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = dirname(dirname(fileURLToPath(import.meta.url)))
const options = { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] }
const compiler = spawn(
  process.execPath,
  [join(project, 'node_modules/typescript/bin/tsc'), '--watch', '--preserveWatchOutput'],
  options,
)
let server = null
let starting = Promise.resolve()

compiler.stdout.setEncoding('utf8').on('data', (text) => {
  process.stdout.write(text)
  if (text.includes('Found 0 errors')) starting = starting.then(restart)
})
compiler.on('exit', (code) => void stop(code ?? 1))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void stop(0))

async function restart() {
  await end(server)
  server = spawn(process.execPath, ['--enable-source-maps', 'dist/src/server/main.js', ...process.argv.slice(2)], {
    cwd: project,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

async function stop(code) {
  compiler.removeAllListeners('exit')
  await Promise.all([end(server), end(compiler)])
  process.exit(code)
}

function end(child) {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', resolve)
    child.kill('SIGTERM')
  })
}
