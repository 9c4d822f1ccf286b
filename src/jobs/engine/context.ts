import type { Tx } from '../../database/index.ts'
import { dataWithoutSecrets, withoutSecrets } from '../../errors/index.ts'
import type { JobContext, JobResult } from '../definition.ts'
import type { JobLogger } from '../job-logger.ts'
import { fromTenantColumn } from '../tenant.ts'
import type { Attempt } from './attempt.ts'
import { jobTransaction, proveClaims, settleHere, Superseded } from './claim-transaction.ts'
import { endingOf } from './ending.ts'
import type { EngineParts } from './parts.ts'

/** What a handler is given. One per attempt. */
export class AttemptContext implements JobContext {
  readonly #attempt: Attempt
  readonly #parts: EngineParts
  #transactionUsed = false
  #open = false

  constructor(attempt: Attempt, parts: EngineParts) {
    this.#attempt = attempt
    this.#parts = parts
  }

  /** What the engine's own jobs reach past their context. */
  static parts(context: JobContext): EngineParts {
    if (!(context instanceof AttemptContext)) throw new Error('Only a job that the engine runs has an engine.')
    return context.#parts
  }

  get jobId(): string {
    return this.#attempt.job.id
  }
  get tenantId(): string | null {
    return fromTenantColumn(this.#attempt.job.tenantId)
  }
  get attempt(): number {
    return this.#attempt.job.attempt
  }
  get maxAttempts(): number {
    return this.#attempt.job.maxAttempts
  }
  get correlationId(): string {
    return this.#attempt.job.correlationId
  }
  get triggeredBy(): string {
    return this.#attempt.job.triggeredBy
  }
  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  remainingMs(): number {
    return this.#attempt.remainingMs()
  }

  async transaction(body: (tx: Tx) => Promise<JobResult>): Promise<JobResult> {
    if (this.#transactionUsed)
      throw new Error(
        'A handler settles its job once: context.transaction was called twice. Use context.step before it.',
      )
    this.#transactionUsed = true
    const attempt = this.#attempt
    attempt.inTransaction = true
    try {
      const [result, status] = await this.#inClaim(async (tx) => {
        const answer = await body(tx)
        const statuses = await settleHere(tx, [{ attempt, ending: endingOf(answer) }])
        return [answer, statuses.get(attempt.job.id)!] as const
      })
      attempt.settledAs = status
      return result
    } finally {
      attempt.inTransaction = false
    }
  }

  step<T>(body: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#inClaim(body)
  }

  async stepFor<T>(tenantId: string, body: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.tenantId !== null)
      throw new Error(
        'Only a job of the installation goes through the tenants; this one has a tenant: use context.step.',
      )
    return this.#inClaim(body, tenantId)
  }

  get log(): JobLogger {
    const { id: jobId, type, correlationId } = this.#attempt.job
    const { logger } = this.#parts
    const told = (fields: object) => ({ jobId, type, correlationId, ...(dataWithoutSecrets(fields) as object) })
    return {
      info: (fields, message) => logger.info(told(fields), withoutSecrets(message)),
      warn: (fields, message) => logger.warn(told(fields), withoutSecrets(message)),
      error: (fields, message) => logger.error(told(fields), withoutSecrets(message)),
    }
  }

  async #inClaim<T>(body: (tx: Tx) => Promise<T>, tenantId = this.#attempt.job.tenantId): Promise<T> {
    // The second would wait for the job's row, which the first has locked, and the first for the second.
    if (this.#open)
      throw new Error('A handler has one transaction at a time: await context.step before the next one, outside of it.')
    this.#open = true
    const attempt = this.#attempt
    const { database, transactions } = this.#parts
    try {
      return await transactions.with(async () => {
        attempt.signal.throwIfAborted()
        const done = await jobTransaction(
          database,
          tenantId,
          async (tx) => {
            if (!(await proveClaims(tx, [attempt])).has(attempt.job.id)) throw new Superseded()
            return body(tx)
          },
          Math.max(1, attempt.remainingMs()),
        )
        this.#parts.onCommitted()
        return done
      })
    } finally {
      this.#open = false
    }
  }
}
