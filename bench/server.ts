import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import WebSocket from 'ws'
import { EmbeddedPostgres, migrate, projectFolder } from '../src/database/index.ts'

// The whole process as it is started: what it weighs when idle, and how fast a change reaches a WebSocket. With
// DATABASE_URL on that database, which must be a scratch one; else on an embedded server.

const THREADS = 4
const SETTLE_MS = 5_000
const CHANGES = 60

export async function run(): Promise<void> {
  const given = process.env['DATABASE_URL']
  const database = given
    ? null
    : await EmbeddedPostgres.start({ project: projectFolder(), name: `bench-${process.pid}` })
  const databaseUrl = given ?? database!.url()
  await migrate(databaseUrl)
  const server = await startServer(databaseUrl)
  try {
    await pause(SETTLE_MS)
    figure('server_idle_rss', await idleMemory(server.url), 'MB')
    await latencies(server)
    figure('server_rss_after_use', await idleMemory(server.url), 'MB')
  } finally {
    await ended(server.child)
    await database?.stop()
    database?.remove()
  }
}

interface RunningServer {
  readonly child: ChildProcess
  readonly url: string
  readonly token: string
}

/** `npm start` with four worker threads, as a process of its own. */
async function startServer(databaseUrl: string): Promise<RunningServer> {
  const child = spawn(process.execPath, [join(projectFolder(), 'dist', 'src', 'server', 'main.js')], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: databaseUrl,
      PORT: '0',
      THREADS: String(THREADS),
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}.`)))
    child.stdout.on('data', (text) => {
      output += String(text)
      if (output.includes('"Bearer ')) resolve()
    })
  })
  return { child, url: /listens on (http\S+)/.exec(output)![1]!, token: /"Bearer ([^"]+)"/.exec(output)![1]! }
}

async function idleMemory(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)![1]) / 1024 / 1024
}

/** From the recording of an event by the database to its arrival at a WebSocket on the same machine. */
async function latencies(server: RunningServer): Promise<void> {
  const query = 'subscription { tenantEvents { __typename ... on DomainEvent { recordedAt } } }'
  const stream = await subscribe(server, query)
  const times: number[] = []
  for (let change = 0; change < CHANGES; change++) {
    // At no fixed distance from the feed's own reads.
    await pause(100 + Math.random() * 200)
    const arrival = stream.next()
    await mutate(server, change % 2 === 0 ? CREATE : DISCARD)
    const { at, event } = await arrival
    times.push(at - Date.parse(event.recordedAt))
  }
  stream.close()
  const sorted = times.sort((a, b) => a - b)
  for (const percent of [50, 95, 99])
    figure(`event_to_subscriber_p${percent}`, sorted[Math.ceil((sorted.length * percent) / 100) - 1]!, 'ms')
}

const CREATE = 'mutation { change: createOrgModelDraft(input: {}) { __typename } }'
const DISCARD = 'mutation { change: discardOrgModelDraft(input: { reason: "bench" }) { __typename } }'

async function mutate({ url, token }: RunningServer, query: string): Promise<void> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
  })
  const { data } = (await response.json()) as { data?: { change?: { __typename: string } } }
  if (data?.change?.__typename.endsWith('Success') !== true) throw new Error(`Refused: ${JSON.stringify(data)}`)
}

interface Arrival {
  /** Milliseconds since the epoch, with fractions. */
  readonly at: number
  readonly event: { readonly recordedAt: string }
}

async function subscribe({ url, token }: RunningServer, query: string) {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/graphql`, 'graphql-transport-ws')
  let arrived: (arrival: Arrival) => void = () => {}
  await new Promise<void>((caughtUp, failed) => {
    socket.on('error', failed)
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } })),
    )
    socket.on('message', (data: Buffer) => {
      const at = performance.timeOrigin + performance.now()
      const { type, payload } = JSON.parse(data.toString()) as {
        type: string
        payload?: { data: { tenantEvents: { __typename: string; recordedAt: string } } }
      }
      if (type === 'connection_ack')
        socket.send(JSON.stringify({ id: randomUUID(), type: 'subscribe', payload: { query } }))
      else if (type !== 'next') failed(new Error(`Unexpected: ${data.toString()}`))
      else if (payload!.data.tenantEvents.__typename === 'StreamCaughtUp') caughtUp()
      else arrived({ at, event: payload!.data.tenantEvents })
    })
  })
  return {
    next: () =>
      new Promise<Arrival>((resolve) => {
        arrived = resolve
      }),
    close: () => socket.close(),
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await exit
}

function figure(name: string, value: number, unit: string): void {
  process.stdout.write(`figure ${name} ${value >= 100 ? Math.round(value) : value.toFixed(2)} ${unit}\n`)
}

await run()
