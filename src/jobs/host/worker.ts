/**
 * The one entry of every worker thread: an engine on a database of its own. Compiled JavaScript always
 * (pitfall 20), long-lived, and it ends by itself with exit code 0 (pitfall 3): when the engine has stopped,
 * nothing keeps the event loop alive.
 */
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { Database, isUnreachable } from '../../database/index.ts'
import { Engine } from '../engine/engine.ts'
import { ENGINE_SCHEDULES } from '../periodic/own-jobs.ts'
import type { Schedule } from '../periodic/schedule.ts'
import { redactedStack } from '../redact.ts'
import type { AnyJobDefinition } from '../registry.ts'
import { saidSeldom } from './seldom.ts'
import { BEAT_MS, beatOf, type FromThread, heldOf, type LogLevel, type ThreadSetup, type ToThread } from './protocol.ts'

if (parentPort === null) throw new Error('This file is a worker thread of Regie and is started by startJobs.')

const port = parentPort
const setup = workerData as ThreadSetup
const gauges = new Int32Array(setup.gauges)

type Told = FromThread extends infer Message
  ? Message extends FromThread
    ? Omit<Message, 'v' | 'workerId'>
    : never
  : never

const tell = (message: Told): void => port.postMessage({ v: 1, workerId: setup.workerId, ...message })

const log = (level: LogLevel) => (fields: object, message: string) =>
  tell({ type: 'log', level, fields: { ...cloneable(fields), slot: setup.slot }, message })

/** Errors cross threads as text: some carry functions, which cannot be cloned. */
function cloneable(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? redactedStack(value) : value]),
  )
}

const logger = saidSeldom({ info: log('info'), warn: log('warn'), error: log('error') })

/** At once, then at most once per interval: a busy thread commits hundreds of times per second. */
const COALESCE_MS = 10
let quiet: NodeJS.Timeout | null = null
let more = false
function committed(): void {
  if (quiet !== null) {
    more = true
    return
  }
  tell({ type: 'committed' })
  quiet = setTimeout(() => {
    quiet = null
    if (more) committed()
    more = false
  }, COALESCE_MS)
}

// A promise that a handler forgot must not take the other jobs of this thread with it; its own job ends by its
// time-out. What is thrown outside of any promise leaves the thread in an unknown state, and does end it.
process.on('unhandledRejection', (error) => logger.error({ err: error }, 'A handler left a rejected promise behind.'))

const database = new Database({
  url: setup.databaseUrl,
  max: setup.connections,
  applicationName: `regie worker ${setup.slot}`,
  preparedStatements: setup.preparedStatements,
  onConnectionLost: (error) => logger.warn({ err: error }, 'A connection to the database was lost; it is replaced.'),
})

// Beats show the main thread that this event loop turns, without a message that a blocked main loop would queue.
const beat = setInterval(() => {
  Atomics.add(gauges, beatOf(setup.slot), 1)
  Atomics.store(gauges, heldOf(setup.slot), engine?.held ?? 0)
}, BEAT_MS)

let engine: Engine | null = null
/** Of the definitions: lets go of what they opened, such as connections to other servers. */
let release: (() => unknown) | null = null
let stopping: Promise<void> | null = null

port.on('message', (message: ToThread | 'cancel') => {
  if (message === 'cancel') return
  if (message.type === 'wake') engine?.wake()
  else stopping ??= close(message.deadlineMs)
})

async function close(deadlineMs: number): Promise<void> {
  await started
  await engine?.stop(deadlineMs)
  await leave()
}

async function leave(): Promise<void> {
  try {
    await release?.()
  } catch (error) {
    logger.warn({ err: error }, 'What the job definitions had opened could not be closed.')
  }
  clearInterval(beat)
  if (quiet !== null) clearTimeout(quiet)
  Atomics.store(gauges, heldOf(setup.slot), 0)
  await database.close().catch(() => {})
  port.close()
}

async function start(): Promise<void> {
  try {
    const module = (await import(pathToFileURL(setup.definitionsModule).href)) as {
      jobDefinitions?: unknown
      jobSchedules?: unknown
      release?: () => unknown
    }
    release = module.release ?? null
    if (!Array.isArray(module.jobDefinitions))
      throw new Error(`${setup.definitionsModule} has no export "jobDefinitions" that is a list.`)
    const schedules = module.jobSchedules ?? []
    if (!Array.isArray(schedules))
      throw new Error(`The export "jobSchedules" of ${setup.definitionsModule} is no list.`)
    engine = new Engine({
      database,
      definitions: module.jobDefinitions as AnyJobDefinition[],
      schedules: [...ENGINE_SCHEDULES, ...(schedules as Schedule[])],
      concurrency: setup.concurrency,
      logger,
      onCommitted: committed,
      workerId: setup.workerId,
      slot: setup.slot,
      leaseMs: setup.leaseMs,
      pausesMs: setup.pausesMs,
      onUnknownTypes: (types) => tell({ type: 'unknownTypes', types }),
    })
    await begin(engine)
    tell({ type: 'ready' })
  } catch (error) {
    tell({ type: 'failed', problem: error instanceof Error ? error.message : String(error) })
    await leave()
  }
}

/** A thread that was restarted because the database went away must not crash again for the same reason. */
async function begin(claiming: Engine): Promise<void> {
  for (;;)
    try {
      return await claiming.start()
    } catch (error) {
      if (setup.failFast || stopping !== null || !isUnreachable(error)) throw error
      logger.warn({ err: error }, 'The database cannot be reached; the worker thread waits for it.')
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
}

const started = start()
