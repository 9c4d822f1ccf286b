import {
  createSourceEventStream,
  execute,
  getOperationAST,
  GraphQLError,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  parse,
  specifiedRules,
  validate,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { brokenLimit, limitError, type DocumentLimits, type Limit } from './document-limits.ts'
import type { Incoming } from './incoming.ts'
import { masked } from './masking.ts'
import type { Metrics } from './metrics.ts'
import { documentProblem, variablesProblem } from './operation-input.ts'
import { ResponseStream } from './response-stream.ts'

export interface OperationsOptions<Context> {
  readonly schema: GraphQLSchema
  /** Called once per operation and once per delivered event, so that no cache outlives what it was filled for. */
  readonly context: (incoming: Incoming) => Context | Promise<Context>
  readonly limits: DocumentLimits
  /** Off: `__schema` and `__type` are refused and no message suggests a name. */
  readonly introspection: boolean
  /** Refuses operations without a name: makes logs and metrics useful in production. */
  readonly requireOperationName: boolean
  /** Longest time one operation, or the answer to one event, may take, in milliseconds. */
  readonly deadlineMs: number
  readonly metrics: Metrics
}

export interface OperationRequest {
  readonly query: string
  readonly operationName?: string | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
}

export type Answers = ResponseStream<unknown, ExecutionResult>

const MOST_DOCUMENTS = 1_000
// The limit on tokens does not count the length of a text or a comment: a thousand documents as long as a body may
// be would hold 256 MB for good.
const LONGEST_KEPT = 16_384

/** The road of an operation, the same for every transport: parse, limits, validation, execution. */
export class Operations<Context> {
  readonly #options: OperationsOptions<Context>
  /** Only documents that passed; errors are never kept, since transports write into them (R19). */
  readonly #documents = new Map<string, DocumentNode>()
  readonly #valid = new WeakSet<DocumentNode>()

  constructor(options: OperationsOptions<Context>) {
    this.#options = options
  }

  get schema(): GraphQLSchema {
    return this.#options.schema
  }

  /** @throws GraphQLError GRAPHQL_PARSE_FAILED or QUERY_TOO_COMPLEX */
  parse(source: string): DocumentNode {
    const known = this.#documents.get(source)
    if (known !== undefined) {
      // Put last again: what falls out when the map is full is what was not asked for longest.
      this.#documents.delete(source)
      this.#documents.set(source, known)
      return known
    }
    const maxTokens = this.#options.limits.tokens
    try {
      return parse(source, { maxTokens })
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error
      if (error.message.includes('Parsing aborted')) throw this.#refusal({ limit: 'tokens', allowed: maxTokens })
      throw coded(error, 'GRAPHQL_PARSE_FAILED')
    }
  }

  validate(document: DocumentNode): readonly GraphQLError[] {
    if (this.#valid.has(document)) return []
    const broken = brokenLimit(document, this.#options.limits)
    if (broken !== null) return [this.#refusal(broken)]
    const problem = documentProblem(document)
    if (problem !== null) return [badInput(problem)]
    const { introspection, schema } = this.#options
    const rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule]
    const errors = validate(schema, document, rules, { maxErrors: 20, hideSuggestions: !introspection })
    if (errors.length > 0) {
      this.#options.metrics.documentsRefused.inc({ rule: 'validation' })
      return errors.map((error) => coded(error, 'GRAPHQL_VALIDATION_FAILED'))
    }
    this.#keep(document)
    return errors
  }

  /** The operation to run, of a valid document. @throws GraphQLError BAD_USER_INPUT, UNAUTHENTICATED */
  pick(document: DocumentNode, request: Omit<OperationRequest, 'query'>, incoming: Incoming): OperationDefinitionNode {
    const { operationName, variables } = request
    const problem = variablesProblem(variables)
    if (problem !== null) throw badInput(problem)
    const definition = getOperationAST(document, operationName)
    if (!definition)
      throw badInput('Say in "operationName" which operation of the document to run; exactly one must carry that name.')
    if (this.#options.requireOperationName && definition.name === undefined)
      throw badInput('Give the operation a name: this server accepts named operations only.')
    if (incoming.viewer === null && incoming.operator === null && !asksOnlyForTheSchema(definition))
      throw new GraphQLError('This needs a token: send "Authorization: Bearer <token>".', {
        extensions: { code: 'UNAUTHENTICATED' },
      })
    return definition
  }

  /** Whether it is certain that this is a query or a mutation; false also for what cannot be parsed. */
  isNoSubscription(request: OperationRequest): boolean {
    try {
      const definition = getOperationAST(this.parse(request.query), request.operationName)
      return definition != null && definition.operation !== OperationTypeNode.SUBSCRIPTION
    } catch {
      return false
    }
  }

  /** The caller's own context for one operation or one event. */
  async context(incoming: Incoming): Promise<Context> {
    return this.#options.context(incoming)
  }

  /** Opens a subscription; the errors say why it could not be. Never throws. */
  async subscribe(
    request: OperationRequest,
    incomingWith: (signal: AbortSignal) => Incoming,
  ): Promise<Answers | { readonly errors: readonly GraphQLError[] }> {
    const gone = new AbortController()
    const incoming = incomingWith(gone.signal)
    const mask = (error: unknown) => masked(error, incoming)
    try {
      const document = this.parse(request.query)
      const invalid = this.validate(document)
      if (invalid.length > 0) return { errors: invalid.map(mask) }
      const definition = this.pick(document, request, incoming)
      if (definition.operation !== OperationTypeNode.SUBSCRIPTION)
        return {
          errors: [mask(badInput('Only subscriptions run here: send queries and mutations as JSON over HTTP.'))],
        }
      const args = await this.#args(document, request, incoming)
      const opening = Promise.resolve(createSourceEventStream(args))
      const source = await this.within(opening, () => void letGo(opening))
      if (!isAsyncIterable(source)) {
        gone.abort()
        return { errors: (source.errors ?? []).map(mask) }
      }
      const closed = this.#options.metrics.subscriptionOpened(fieldOf(definition, this.schema))
      return new ResponseStream(
        source[Symbol.asyncIterator](),
        (event) => this.#answer(document, request, incoming, event),
        mask,
        () => {
          gone.abort()
          closed()
        },
      )
    } catch (error) {
      gone.abort()
      return { errors: [mask(error)] }
    }
  }

  async #answer(document: DocumentNode, request: OperationRequest, incoming: Incoming, event: unknown) {
    const args = await this.#args(document, request, incoming)
    const result = await this.within(Promise.resolve(execute({ ...args, rootValue: event })), () => {})
    return maskedResult(result, incoming)
  }

  async #args(document: DocumentNode, request: OperationRequest, incoming: Incoming): Promise<ExecutionArgs> {
    return {
      schema: this.schema,
      document,
      contextValue: await this.context(incoming),
      variableValues: request.variables,
      operationName: request.operationName,
      options: { maxCoercionErrors: 20 },
      hideSuggestions: !this.#options.introspection,
    } as ExecutionArgs
  }

  /** Runs `work` against the deadline; `signal` of the operation is the caller's to abort. */
  async within<T>(work: Promise<T>, onExpiry: (reason: GraphQLError) => void): Promise<T> {
    const { deadlineMs } = this.#options
    let timer: NodeJS.Timeout | undefined
    const expired = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const reason = new GraphQLError(
          `The operation took longer than ${deadlineMs} ms and was given up. What it had already committed stays.`,
          { extensions: { code: 'TIMEOUT' } },
        )
        onExpiry(reason)
        reject(reason)
      }, deadlineMs)
    })
    try {
      return await Promise.race([work, expired])
    } finally {
      clearTimeout(timer)
    }
  }

  #refusal(broken: { limit: Limit; allowed: number }): GraphQLError {
    this.#options.metrics.documentsRefused.inc({ rule: broken.limit })
    return limitError(broken)
  }

  #keep(document: DocumentNode): void {
    this.#valid.add(document)
    const source = document.loc?.source.body
    if (source === undefined || source.length > LONGEST_KEPT) return
    this.#documents.set(source, document)
    if (this.#documents.size > MOST_DOCUMENTS) this.#documents.delete(this.#documents.keys().next().value!)
  }
}

/** A result whose errors are fit for the client. */
export function maskedResult(result: ExecutionResult, incoming: Incoming): ExecutionResult {
  if (result.errors === undefined) return result
  return { ...result, errors: result.errors.map((error) => masked(error, incoming)) }
}

const badInput = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } })

const coded = (error: GraphQLError, code: string): GraphQLError =>
  new GraphQLError(error.message, {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    extensions: { code },
  })

const SCHEMA_FIELDS = new Set(['__schema', '__type', '__typename'])

/** Whether the schema itself is all that is asked for, which needs no viewer where introspection is on. */
const asksOnlyForTheSchema = (definition: OperationDefinitionNode): boolean =>
  definition.operation === OperationTypeNode.QUERY &&
  definition.selectionSet.selections.every(
    (selection) => selection.kind === 'Field' && SCHEMA_FIELDS.has(selection.name.value),
  )

// The label of a metric: a field of the schema, so that a client cannot invent labels.
function fieldOf(definition: OperationDefinitionNode, schema: GraphQLSchema): string {
  const [selection] = definition.selectionSet.selections
  const name = selection?.kind === 'Field' ? selection.name.value : ''
  return schema.getSubscriptionType()?.getFields()[name] === undefined ? 'other' : name
}

/** Ends a source that came after its deadline, when nobody waits for it any more. */
async function letGo(opening: Promise<unknown>): Promise<void> {
  const source = await opening.catch(() => null)
  if (isAsyncIterable(source)) await source[Symbol.asyncIterator]().return?.()
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
