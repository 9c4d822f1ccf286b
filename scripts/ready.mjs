// Makes the project ready to run, then runs a program of it:
//
//   node scripts/ready.mjs [--steps install,generate] [--again] [program [arguments …]]
//
// Each step runs only when its stamp, a hash of all that the step depends on, says that it must; `--steps` limits
// the steps and `--again` runs them whatever their stamps say. This file runs before node_modules exists, so it
// imports from `node:` only. The program runs in this very process: a signal sent to it reaches the program.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { underLock } from './lock.mjs'

const project = dirname(dirname(fileURLToPath(import.meta.url)))
const at = (...path) => join(project, ...path)

const steps = [
  {
    name: 'install',
    says: 'Installing packages',
    fails: 'The packages could not be installed.',
    stamp: 'node_modules/.regie-ready',
    // A Node version may want other optional packages.
    inputs: () => [readFileSync(at('package-lock.json')), process.version, process.platform, process.arch],
    alreadyDone: isInstalledAsLocked,
    // Without install scripts: none is needed, and some would download what a closed network does not have.
    command: () => [
      process.execPath,
      npm(),
      'ci',
      '--ignore-scripts',
      '--include=dev',
      '--include=optional',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ],
  },
  {
    name: 'generate',
    says: 'Generating the database client',
    fails: 'The database client could not be generated.',
    stamp: 'src/database/generated/.ready',
    inputs: () => [lockfile(), ...contents(['prisma', 'prisma.config.ts'], /\.(prisma|ts)$/)],
    command: () => [process.execPath, binary('prisma'), 'generate'],
    // `generate` looks for the native schema engine and never runs it: any program that exists will do.
    environment: () => ({ PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }),
  },
  {
    name: 'codegen',
    says: 'Generating the API client',
    fails: 'The API client could not be generated.',
    stamp: 'client/src/generated/.ready',
    exists: () => existsSync(at('codegen.ts')) && existsSync(at('schema.graphql')),
    inputs: () => [lockfile(), ...contents(['codegen.ts', 'schema.graphql', 'client'], /codegen\.ts$|\.graphql$/)],
    command: () => [process.execPath, binary('@graphql-codegen/cli', 'graphql-codegen'), '--config', 'codegen.ts'],
  },
  {
    name: 'build',
    says: 'Compiling',
    fails: 'The TypeScript sources do not compile.',
    stamp: 'dist/.ready',
    inputs: () => [lockfile(), ...contents(['.'], /\.(ts|json)$/, 'package.json')],
    before: removeOrphans,
    command: () => [process.execPath, binary('typescript', 'tsc')],
  },
]

async function main(args) {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19)) {
    stop(`Regie needs Node 20.19 or newer and this is ${process.version}. Install a newer Node from nodejs.org.`, 1)
  }
  const again = take(args, '--again')
  const only = take(args, '--steps', true)?.split(',')
  const wanted = steps.filter(({ name }) => only === undefined || only.includes(name))
  if (again || wanted.some((step) => !isReady(step))) await make(wanted, again)
  const [program, ...rest] = args
  if (program === undefined) return
  const file = resolve(project, program)
  if (!existsSync(file)) stop(`There is no ${program}. Give the name of a program that this version has.`, 1)
  process.argv = [process.execPath, file, ...rest]
  process.setSourceMapsEnabled(true)
  endWithParent()
  await import(pathToFileURL(file).href)
}

async function make(wanted, again) {
  try {
    mkdirSync(at('.data'), { recursive: true })
    await underLock(at('.data', 'ready.lock'), () => runAll(wanted, again))
  } catch (error) {
    if (error instanceof Refusal) stop(error.message, error.code)
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(error.code)) throw error
    stop(`The project cannot be made ready: ${error.message}. Give this user the right to write in ${project}.`, 1)
  }
}

async function runAll(wanted, again) {
  for (const step of wanted) {
    if (step.exists?.() === false) continue
    // Another process may have done it while this one waited for the lock.
    if (!again && isReady(step)) continue
    const began = performance.now()
    process.stderr.write(`${step.says} … `)
    if (!again && step.alreadyDone?.()) process.stderr.write('already there\n')
    else {
      rmSync(at(step.stamp), { force: true })
      step.before?.()
      const [program, ...args] = step.command()
      const { code, output } = await run(program, args, step.environment?.())
      if (code !== 0) {
        process.stderr.write('failed\n')
        if (output !== '') process.stderr.write(`\n${output.trimEnd()}\n\n`)
        throw new Refusal(`${step.fails} What the tool says about it stands above.`, code)
      }
      process.stderr.write(`${((performance.now() - began) / 1000).toFixed(1)} s\n`)
    }
    mkdirSync(dirname(at(step.stamp)), { recursive: true })
    writeFileSync(at(step.stamp), hashOf(step))
  }
}

/**
 * npm puts a shell between itself and its script and passes a signal on to that shell only, which ends and leaves
 * the script running. So a script of npm's ends, as if told to, when its parent has gone.
 */
function endWithParent() {
  if (process.env['npm_lifecycle_event'] === undefined) return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 500)
  watch.unref()
}

class Refusal extends Error {
  constructor(message, code) {
    super(message)
    this.code = code
  }
}

function stop(sentence, code) {
  process.stderr.write(`${sentence}\n`)
  process.exit(code)
}

function take(args, flag, withValue = false) {
  const index = args.indexOf(flag)
  // Flags after the program's name are the program's own.
  if (index === -1 || args.slice(0, index).some((arg, i) => !arg.startsWith('--') && args[i - 1] !== '--steps')) return
  return args.splice(index, withValue ? 2 : 1).at(-1)
}

function isReady(step) {
  if (step.exists?.() === false) return true
  const stamp = at(step.stamp)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === hashOf(step)
}

function hashOf(step) {
  const hash = createHash('sha256')
  for (const input of step.inputs()) hash.update(input).update('\0')
  return hash.digest('hex')
}

const lockfile = () => readFileSync(at('package-lock.json'))

/** Names and contents of all files below some places, without what other steps have made. */
function* contents(places, pattern, ...without) {
  const left = new Set(['node_modules', 'dist', '.git', '.data', ...without].map((path) => at(path)))
  function* walk(path) {
    if (left.has(path) || !existsSync(path)) return
    if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) yield* walk(join(path, name))
    else if (pattern.test(path)) yield `${relative(project, path)}\0${readFileSync(path, 'utf8')}`
  }
  for (const place of places) yield* walk(at(place))
}

/** Somebody ran npm by hand: what is installed is what the lock file says. */
function isInstalledAsLocked() {
  const installed = at('node_modules', '.package-lock.json')
  if (!existsSync(installed)) return false
  const have = JSON.parse(readFileSync(installed, 'utf8')).packages
  const want = Object.entries(JSON.parse(lockfile()).packages)
  return want.every(([path, { version, optional }]) => path === '' || optional || have[path]?.version === version)
}

/** Compiled files whose source is gone: they would still be found by an import. */
function removeOrphans() {
  const dist = at('dist')
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) walk(path)
      else if (entry.name.endsWith('.js') && !existsSync(at(relative(dist, path).replace(/\.js$/, '.ts')))) {
        rmSync(path)
        rmSync(`${path}.map`, { force: true })
      }
    }
  }
  if (existsSync(dist)) walk(dist)
}

/** The npm that runs us, or the one that came with this Node. */
function npm() {
  const running = process.env['npm_execpath']
  if (running !== undefined && /npm-cli\.c?js$/.test(running)) return running
  const home = dirname(process.execPath)
  const places = [join(home, '..', 'lib', 'node_modules', 'npm'), join(home, 'node_modules', 'npm')]
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    places.push(join(folder, '..', 'lib', 'node_modules', 'npm'), join(folder, 'node_modules', 'npm'))
  }
  const found = places.map((place) => join(place, 'bin', 'npm-cli.js')).find((file) => existsSync(file))
  if (found === undefined) throw new Refusal('npm was not found. Install it, or run: npm ci --ignore-scripts', 1)
  return found
}

function binary(packageName, command = packageName) {
  const folder = at('node_modules', ...packageName.split('/'))
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : bin[command])
}

/** Tools find each other's programs by PATH, which npm extends and a bare `node scripts/ready.mjs` does not. */
function withPrograms() {
  const name = Object.keys(process.env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH'
  return { [name]: [at('node_modules', '.bin'), process.env[name] ?? ''].join(delimiter) }
}

function run(program, args, environment = {}) {
  return new Promise((done) => {
    const child = spawn(program, args, {
      cwd: project,
      env: { ...process.env, ...withPrograms(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const forward = (signal) => child.kill(signal)
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, forward)
    const end = (code, more = '') => {
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, forward)
      done({ code, output: output + more })
    }
    child.on('error', (error) => end(1, error.message))
    child.on('close', (code, signal) => end(code ?? 1, signal === null ? '' : `Ended by ${signal}.`))
  })
}

await main(process.argv.slice(2))
