import type { IncomingMessage, ServerResponse } from 'node:http'
import { GraphQLError, OperationTypeNode, type DocumentNode, type ExecutionArgs, type ExecutionResult } from 'graphql'
import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga'
import { apiError, type ApiErrorCode } from '../schema/errors/index.ts'
import { ERROR_CODES } from './error-codes.ts'
import type { Incoming } from './incoming.ts'
import { masked } from './masking.ts'
import type { Metrics } from './metrics.ts'
import type { Operations } from './operations.ts'

/** What one HTTP request brings into Yoga. */
export interface HttpCall {
  readonly incoming: Incoming
  /** Ends what runs under `incoming.signal`. */
  readonly abort: (reason: unknown) => void
  /** The body's text, read and checked already; null for GET. */
  readonly body: string | null
}

interface Call extends HttpCall {
  readonly startedAt: number
  operation: string
  operationName: string | undefined
}

export type HandleGraphql = (request: IncomingMessage, response: ServerResponse, call: HttpCall) => Promise<void>

/** GraphQL over HTTP for queries and mutations: Yoga negotiates and shapes, `Operations` does the work. */
export function makeGraphqlHttp<Context>(options: {
  readonly operations: Operations<Context>
  readonly metrics: Metrics
  readonly path: string
  readonly graphiql: boolean
  readonly afterMutation?: () => void
}): HandleGraphql {
  const yoga = createYoga<{ call: Call }, object>({
    schema: options.operations.schema,
    graphqlEndpoint: options.path,
    plugins: [regie(options)],
    graphiql: options.graphiql && { title: 'Regie', subscriptionsProtocol: 'WS' },
    // The page with all its scripts: Yoga's own would fetch them from a CDN. 18 MB, so only when it is asked for.
    renderGraphiQL: async (page) => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(page),
    landingPage: false,
    // Masking, caching, limits and CORS are ours, since the other transports need the same.
    maskedErrors: false,
    parserAndValidationCache: false,
    maxRequestBodySize: false,
    multipart: false,
    batching: false,
    cors: false,
    logging: false,
  })
  return async (request, response, call) => {
    const complete: Call = { ...call, startedAt: performance.now(), operation: 'none', operationName: undefined }
    await yoga(request, response, { call: complete })
  }
}

function regie<Context>(options: {
  readonly operations: Operations<Context>
  readonly metrics: Metrics
  readonly afterMutation?: () => void
}): Plugin<{ call: Call; params?: GraphQLParams }> {
  const { operations, metrics } = options
  return {
    onRequestParse({ serverContext, setRequestParser }) {
      const { body } = (serverContext as unknown as { call: Call }).call
      setRequestParser(body === null ? parsedAddress : () => parsed(body))
    },
    onParse({ setParseFn }) {
      setParseFn((source: string) => operations.parse(source))
    },
    onValidate({ setValidationFn }) {
      setValidationFn(((_schema: unknown, document: DocumentNode) => operations.validate(document)) as never)
    },
    onExecute({ args, executeFn, setExecuteFn }) {
      setExecuteFn((() => run(args, executeFn)) as never)
    },
    onSubscribe() {
      // Yoga would open the stream, find that the client cannot take one, and leave it open.
      throw new GraphQLError('Subscriptions need "accept: text/event-stream" in a POST, or a WebSocket.', {
        extensions: { code: 'BAD_USER_INPUT', http: { status: 406 } },
      })
    },
    onResultProcess({ result, setResult, serverContext }) {
      const { call } = serverContext as unknown as { call: Call }
      const answer = result as ExecutionResult
      const errors = answer.errors?.map((error) => masked(error, call.incoming))
      finish(call, errors)
      if (errors === undefined || errors.length === 0) return
      if (!('data' in answer)) addStatus(call, errors, answer.errors!)
      setResult({ ...answer, errors } as never)
    },
  }

  async function run(args: ExecutionArgs, execute: (args: ExecutionArgs) => unknown): Promise<ExecutionResult> {
    const { call } = args.contextValue as { call: Call }
    const definition = operations.pick(
      args.document,
      { operationName: args.operationName, variables: args.variableValues as Record<string, unknown> | undefined },
      call.incoming,
    )
    call.operation = definition.operation
    call.operationName = definition.name?.value
    const contextValue = await operations.context(call.incoming)
    const signal = call.incoming.signal
    // The executor starts no further mutation field once the signal is aborted, so nothing is committed for a
    // client that has been told TIMEOUT, but for what was under way.
    const work = Promise.resolve(execute({ ...args, contextValue, signal } as ExecutionArgs))
    const result = await operations.within(work as Promise<ExecutionResult>, call.abort)
    if (definition.operation === OperationTypeNode.MUTATION) options.afterMutation?.()
    return result
  }

  function finish(call: Call, errors: readonly GraphQLError[] | undefined): void {
    // A client that left gets no answer, and no error either.
    const withoutError = call.incoming.signal.aborted ? 'CLIENT_GONE' : 'OK'
    const code = (errors?.[0]?.extensions['code'] as string | undefined) ?? withoutError
    const ms = performance.now() - call.startedAt
    metrics.operations.observe({ operation: call.operation, code }, ms / 1000)
    const { operation, operationName } = call
    call.incoming.log.info(
      { operation, operationName, code, ms: Math.round(ms), tenantId: call.incoming.viewer?.tenantId },
      'operation',
    )
  }
}

/**
 * Which HTTP status a refusal of the whole request has. What Yoga refuses before it has looked for an operation
 * keeps the status that Yoga gave it, such as 405 for a mutation by GET.
 */
function addStatus(call: Call, errors: readonly GraphQLError[], originals: readonly GraphQLError[]): void {
  errors.forEach((error, index) => {
    const code = error.extensions['code'] as ApiErrorCode
    const { status, spec } = ERROR_CODES[code]
    const { http, code: originalCode } = originals[index]?.extensions ?? {}
    const isBeforeOperation = call.operation === 'none' && originalCode !== 'OPERATION_RESOLUTION_FAILURE'
    const headers =
      code === 'UNAUTHENTICATED' ? { headers: { 'www-authenticate': 'Bearer' } } : status === 503 ? RETRY_SOON : {}
    error.extensions['http'] =
      http !== undefined && isBeforeOperation ? http : { status, ...(spec ? { spec } : {}), ...headers }
  })
}

const RETRY_SOON = { headers: { 'retry-after': '1' } }

const parsed = (body: string): GraphQLParams => json(body, 'The body') as GraphQLParams

/** The parameters of a GET request. Not Yoga's: that one takes broken JSON in them for a fault of the server. */
function parsedAddress({ url }: Request): GraphQLParams {
  const { searchParams } = new URL(url)
  const text = (name: string) => searchParams.get(name) ?? undefined
  const object = (name: string) => {
    const given = text(name)
    return given === undefined || given === '' ? undefined : json(given, `The parameter "${name}"`)
  }
  return {
    query: text('query'),
    operationName: text('operationName'),
    variables: object('variables'),
    extensions: object('extensions'),
  } as GraphQLParams
}

function json(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw apiError('BAD_USER_INPUT', `${what} is not valid JSON.`, { http: { status: 400 } })
  }
}
