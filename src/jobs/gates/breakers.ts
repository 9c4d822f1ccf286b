import type { Attempt } from '../engine/attempt.ts'
import { breakerOpen, type Ending } from '../engine/ending.ts'
import type { EngineParts } from '../engine/parts.ts'
import type { AnyJobDefinition } from '../registry.ts'
import {
  type BreakerRow,
  CLOSE_BREAKER,
  COUNT_FAILURE,
  FORGET_FAILURES,
  OPEN_BREAKER,
  PROBE_BREAKER,
  READ_BREAKERS,
  RELEASE_PROBE,
} from '../sql/breaker.ts'
import { appendTypeEvent } from '../types/operator-event.ts'

const FAILURES = 5
const OPEN_MS = 30_000
const LONGEST_OPEN_MS = 600_000

/** How old what is known may be. */
const FRESH_MS = 1_000
/** How long a job waits, at most, while another one tries. */
const WHILE_PROBED_MS = 5_000
/** How much of a wait is random, so that what was turned away together does not come back together. */
const JITTER = 0.2

/**
 * The circuit breakers of the types that depend on an outside service, as one engine knows them. The truth is in
 * `job_breaker`; here is a copy, at most a second old, of those that failed lately, so that a job of a service that is
 * well costs nothing but the look into an empty map.
 *
 * So many failures in a row, over all processes, open a breaker. While it is open, jobs go back with no attempt spent
 * and nothing called. When its pause is over, one job tries: when it succeeds the breaker is closed, when it fails the
 * pause is twice as long.
 */
export class Breakers {
  readonly #parts: EngineParts
  readonly #types: readonly string[]
  #known = new Map<string, BreakerRow>()
  #readAt = -Infinity
  #reading: Promise<void> | null = null
  /** What is being written. */
  readonly #writing = new Set<Promise<void>>()

  constructor(parts: EngineParts) {
    this.#parts = parts
    const { registry } = parts
    this.#types = registry.types.filter((type) => registry.get(type).dependency !== undefined)
  }

  /** Null when the attempt may begin; else the ending with which its job goes back. */
  async refusal(attempt: Attempt, payload: unknown): Promise<Ending | null> {
    const { definition, job } = attempt
    const dependency = dependencyOf(definition, payload)
    if (dependency === null) return null
    attempt.dependency = dependency
    if (performance.now() - this.#readAt > FRESH_MS) await this.#read()
    // By its claim the job may have become the one that tries: that has to be known before it is turned away, and
    // before it succeeds.
    if ((attempt.gated || this.#barrierAt(attempt, dependency) !== null) && this.#readAt < attempt.claimedAt) {
      await this.#reading
      await this.#read()
    }
    const barrier = this.#barrierAt(attempt, dependency)
    if (barrier === null) return null
    const waitMs = Math.max(0, barrier.closedForMs - (performance.now() - this.#readAt))
    attempt.probes =
      (barrier.state === 'HALF_OPEN' && barrier.probeJobId === job.id) ||
      (waitMs === 0 && (await this.#probe(attempt, dependency)))
    if (attempt.probes) return null
    const longest = barrier.state === 'OPEN' ? waitMs : Math.min(waitMs, WHILE_PROBED_MS)
    return breakerOpen(dependency, Math.max(longest, FRESH_MS) * (1 + JITTER * Math.random()))
  }

  /** Takes note of how an attempt ended that was let through. */
  observe(attempt: Attempt, ending: Ending): void {
    if (attempt.dependency === null || attempt.beganAt === null) return
    const writing = this.#record(attempt, attempt.dependency, ending).catch((error: unknown) =>
      this.#parts.logger.warn(
        { err: error, type: attempt.job.type, dependency: attempt.dependency },
        'A circuit breaker could not take note of an ending; the next one counts again.',
      ),
    )
    this.#writing.add(writing)
    void writing.then(() => this.#writing.delete(writing))
  }

  /** Resolves when everything that was observed is written. */
  async written(): Promise<void> {
    await Promise.all(this.#writing)
  }

  /** The breaker before the attempt's service, unless it is closed. */
  #barrierAt({ job }: Attempt, dependency: string): BreakerRow | null {
    const breaker = this.#known.get(keyOf(job.type, dependency))
    return breaker === undefined || breaker.state === 'CLOSED' ? null : breaker
  }

  async #probe({ job }: Attempt, dependency: string): Promise<boolean> {
    const [row] = await this.#parts.database.run(PROBE_BREAKER, [job.type, dependency, job.id, job.timeoutMs])
    if (row === undefined) return false
    this.#learn(row)
    return true
  }

  async #record(attempt: Attempt, dependency: string, ending: Ending): Promise<void> {
    const { type, id } = attempt.job
    if (isFailure(ending)) return this.#failed(attempt, dependency, ending)
    const { database } = this.#parts
    if (attempt.probes) {
      // Given back, cancelled, refused by the domain: that says nothing of the service.
      if (ending.kind === 'SUCCEEDED') await this.#close(attempt, dependency)
      else await database.run(RELEASE_PROBE, [type, dependency, id])
    } else if (ending.kind === 'SUCCEEDED' && this.#known.get(keyOf(type, dependency))?.state === 'CLOSED') {
      this.#known.delete(keyOf(type, dependency))
      await database.run(FORGET_FAILURES, [type, dependency])
    }
  }

  async #failed(attempt: Attempt, dependency: string, ending: Ending): Promise<void> {
    const { database, onCommitted } = this.#parts
    const { id: jobId, type, correlationId } = attempt.job
    const { failures = FAILURES, openMs = OPEN_MS, longestOpenMs = LONGEST_OPEN_MS } = attempt.definition.breaker ?? {}
    if (!attempt.probes) {
      const [counted] = await database.run(COUNT_FAILURE, [type, dependency])
      if (counted === undefined) return
      this.#learn(counted)
      if (counted.failures < failures) return
    }
    const askedForMs = ending.failureClass === 'THROTTLED' ? ending.delayMs : null
    const opened = await database.rawTransaction(async (tx) => {
      const values = [type, dependency, failures, jobId, openMs, longestOpenMs, askedForMs]
      const [row] = await tx.run(OPEN_BREAKER, values)
      if (row === undefined) return null
      const data = { dependency, failures: row.failures, trips: row.trips, openUntil: row.openUntil!.toISOString() }
      const happened = { type, event: 'job.breaker.opened', data, actor: 'system', reason: ending.code, correlationId }
      await appendTypeEvent(tx, happened)
      return row
    })
    if (opened === null) return
    this.#learn(opened)
    onCommitted()
    this.#parts.logger.warn(
      { type, dependency, failures: opened.failures, openUntil: opened.openUntil, correlationId },
      'A circuit breaker was opened: jobs of this type wait until a single one has reached the service again.',
    )
  }

  async #close(attempt: Attempt, dependency: string): Promise<void> {
    const { database, logger, onCommitted } = this.#parts
    const { id: jobId, type, correlationId } = attempt.job
    const closed = await database.rawTransaction(async (tx) => {
      const [row] = await tx.run(CLOSE_BREAKER, [type, dependency, jobId])
      if (row === undefined) return null
      const data = { dependency }
      const happened = { type, event: 'job.breaker.closed', data, actor: 'system', reason: null, correlationId }
      await appendTypeEvent(tx, happened)
      return row
    })
    if (closed === null) return
    this.#learn(closed)
    onCommitted()
    logger.info({ type, dependency, correlationId }, 'A circuit breaker was closed: the service answers again.')
  }

  #learn(row: BreakerRow): void {
    this.#known.set(keyOf(row.type, row.dependency), row)
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => (this.#reading = null))
    return this.#reading
  }

  /** What cannot be read stays as it was known: a handler's own attempt is not spent on it. */
  async #readNow(): Promise<void> {
    const { database, logger } = this.#parts
    const asked = performance.now()
    try {
      const rows = await database.run(READ_BREAKERS, [this.#types])
      this.#known = new Map(rows.map((row) => [keyOf(row.type, row.dependency), row]))
      this.#readAt = asked
    } catch (error) {
      logger.warn({ err: error }, 'The circuit breakers could not be read; the last known state counts.')
    }
  }
}

function dependencyOf({ dependency }: AnyJobDefinition, payload: unknown): string | null {
  if (dependency === undefined) return null
  return typeof dependency === 'string' ? dependency : dependency(payload)
}

/** What the outside is to blame for; a worker's death is not. */
const isFailure = ({ kind, failureClass }: Ending): boolean =>
  kind === 'RETRY' && (failureClass === 'TRANSIENT' || failureClass === 'THROTTLED' || failureClass === 'TIMEOUT')

const keyOf = (type: string, dependency: string): string => `${type} ${dependency}`
