import type { ServerResponse } from 'node:http'
import type { ExecutionResult, GraphQLError } from 'graphql'
import { apiError } from '../schema/errors/index.ts'
import type { Caller } from './callers.ts'
import { masked, type Masking } from './masking.ts'
import type { Metrics } from './metrics.ts'
import type { EndReason, OpenConnections } from './open-connections.ts'
import type { Answers } from './operations.ts'

export interface EventStreamOptions {
  readonly connections: OpenConnections
  readonly metrics: Metrics
  /** A comment goes out after so many milliseconds of silence. */
  readonly keepAliveMs: number
  /** A client that takes nothing for so long is cut off, in milliseconds. */
  readonly stalledMs: number
}

/**
 * Writes a subscription's answers as server-sent events (`event: next`, `event: complete`; the "distinct
 * connections mode" of graphql-sse). Written by hand and not by Yoga's processor: that one waits for a client
 * that stopped reading without end, and cannot tell a stream that the server ends from one that is over.
 */
export async function writeEventStream(
  response: ServerResponse,
  open: Promise<Answers | { readonly errors: readonly GraphQLError[] }>,
  caller: Caller,
  masking: Masking,
  options: EventStreamOptions,
): Promise<void> {
  const { connections, metrics, keepAliveMs } = options
  let answers: Answers | null = null
  let ended: GraphQLError | null = null
  const end = (reason: EndReason) => {
    ended = masked(endingOf(reason), masking)
    answers?.end(ended)
  }
  const closed = connections.add({ caller, transport: 'sse', end })
  const gone = () => {
    closed()
    void answers?.return()
  }
  response.once('close', gone)
  response.writeHead(200, HEADERS)
  // Some browsers show the stream as open only after its first byte.
  response.write(':\n\n')
  const keepAlive = setInterval(() => {
    if (!response.writableNeedDrain) response.write(':\n\n')
  }, keepAliveMs)
  try {
    const opened = await open
    if ('errors' in opened) await next({ errors: opened.errors })
    else {
      answers = opened
      if (response.destroyed) gone()
      else if (ended !== null) opened.end(ended)
      await pour(opened)
    }
    await send('event: complete\ndata:\n\n')
  } finally {
    clearInterval(keepAlive)
    closed()
    response.end()
  }

  async function pour(stream: Answers): Promise<void> {
    try {
      for await (const answer of stream) {
        await next(answer)
        metrics.delivered.inc({ transport: 'sse' })
      }
    } catch (error) {
      await next({ errors: [error as GraphQLError] })
    }
  }

  function next(result: ExecutionResult): Promise<void> {
    return send(`event: next\ndata: ${JSON.stringify(result)}\n\n`)
  }

  /** Resolves when the socket has room again; a client that makes none is cut off. */
  function send(text: string): Promise<void> {
    if (response.destroyed || response.write(text)) return Promise.resolve()
    return new Promise((resolve) => {
      const stalled = setTimeout(() => {
        metrics.streamsEnded.inc({ reason: 'STALLED' satisfies EndReason })
        response.destroy()
      }, options.stalledMs)
      const done = () => {
        clearTimeout(stalled)
        response.off('drain', done)
        response.off('close', done)
        resolve()
      }
      response.once('drain', done)
      response.once('close', done)
    })
  }
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // For nginx, which else collects what it passes on.
  'x-accel-buffering': 'no',
}

/** What a stream says when the server ends it. The last payload's cursor is where to go on. */
export function endingOf(reason: EndReason): GraphQLError {
  switch (reason) {
    case 'TOKEN_EXPIRED':
      return apiError(
        'UNAUTHENTICATED',
        'The token has expired. Subscribe again with a new one, after your last cursor.',
      )
    case 'REVOKED':
      return apiError('FORBIDDEN', 'This membership was revoked.')
    case 'STOPPING':
      return apiError('SERVICE_UNAVAILABLE', 'The server is restarting. Subscribe again after your last cursor.')
    case 'STALLED':
      return apiError('SLOW_CONSUMER', 'Nothing was read for too long. Subscribe again after your last cursor.')
  }
}
