import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/**
 * What the process counts. A label never holds what a client chose freely: the kind of operation, a code of the
 * closed list, a field of the schema, a transport.
 */
export class Metrics {
  readonly registry = new Registry()

  readonly operations = new Histogram({
    name: 'regie_graphql_operation_seconds',
    help: 'Time from request to answer of queries and mutations.',
    labelNames: ['operation', 'code'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  })

  readonly documentsRefused = new Counter({
    name: 'regie_graphql_documents_refused_total',
    help: 'Documents refused before execution, by the limit they broke.',
    labelNames: ['rule'] as const,
    registers: [this.registry],
  })

  readonly subscriptions = new Gauge({
    name: 'regie_graphql_subscriptions_active',
    help: 'Open subscriptions by root field.',
    labelNames: ['field'] as const,
    registers: [this.registry],
  })

  readonly delivered = new Counter({
    name: 'regie_graphql_deliveries_total',
    help: 'Payloads sent to subscribers.',
    labelNames: ['transport'] as const,
    registers: [this.registry],
  })

  readonly streamsEnded = new Counter({
    name: 'regie_graphql_streams_ended_total',
    help: 'Subscriptions that the server ended, by reason.',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  })

  readonly connections = new Gauge({
    name: 'regie_connections_active',
    help: 'Open WebSockets and event streams.',
    labelNames: ['transport'] as const,
    registers: [this.registry],
  })

  readonly refusals = new Counter({
    name: 'regie_http_refusals_total',
    help: 'Requests and connections refused before GraphQL, by HTTP status or close code.',
    labelNames: ['status'] as const,
    registers: [this.registry],
  })

  readonly #events = new Counter({
    name: 'regie_events_read_total',
    help: 'Events that the feed of this process has read from the log.',
    registers: [this.registry],
  })

  readonly #eventLag = new Histogram({
    name: 'regie_event_lag_seconds',
    help: 'From the recording of an event to its reading by the feed.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers: [this.registry],
  })

  readonly #watermarkAge = new Gauge({
    name: 'regie_event_watermark_age_seconds',
    help: 'How long the oldest writing transaction has been open: it holds back every subscription.',
    registers: [this.registry],
  })

  readonly #heldBack = new Gauge({
    name: 'regie_events_held_back',
    help: 'Committed events that nobody may read yet because of that transaction.',
    registers: [this.registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.registry })
  }

  eventsRead(events: number, lagSeconds: number): void {
    this.#events.inc(events)
    this.#eventLag.observe(lagSeconds)
  }

  watermark(ageSeconds: number, heldBack: number): void {
    this.#watermarkAge.set(ageSeconds)
    this.#heldBack.set(heldBack)
  }

  /** Shows numbers that parts of the process keep themselves; read when the metrics are asked for. */
  watch(parts: {
    readonly pool: { readonly totalCount: number; readonly waitingCount: number }
    readonly feed: { readonly size: number } | null
    /** What operators follow of the jobs. */
    readonly operated: { readonly events: { readonly size: number }; readonly counts: { readonly size: number } } | null
    readonly jobs: WatchedJobs | null
  }): void {
    const { pool, feed, operated, jobs } = parts
    this.#gauge('regie_database_connections', 'Open connections for requests.', () => pool.totalCount)
    this.#gauge('regie_database_waiting', 'Requests waiting for a connection.', () => pool.waitingCount)
    if (feed !== null) this.#gauge('regie_event_streams_active', 'Streams on the event feed.', () => feed.size)
    if (operated !== null)
      this.#gauge(
        'regie_job_streams_active',
        'Streams of jobs and of their numbers that operators follow.',
        () => operated.events.size + operated.counts.size,
      )
    if (jobs === null) return
    const threads = () => jobs.stats().threads
    const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
    this.#gauge('regie_job_threads_restarted', 'Restarts of worker threads since the start.', () =>
      sum(threads().map(({ restarts }) => restarts)),
    )
    this.#gauge('regie_jobs_held', 'Jobs claimed by this process and not yet ended.', () =>
      sum(threads().map(({ held }) => held)),
    )
    this.#gauge('regie_jobs_of_unknown_type', 'Jobs waiting for a version that knows their type.', () =>
      sum(jobs.stats().unknownTypes.map(({ waiting }) => Number(waiting))),
    )
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read())
      },
    })
  }

  /** Counts an open subscription until the returned function is called. */
  subscriptionOpened(field: string): () => void {
    this.subscriptions.inc({ field })
    return () => this.subscriptions.dec({ field })
  }

  /** Number of open subscriptions now. */
  async activeSubscriptions(): Promise<number> {
    const { values } = await this.subscriptions.get()
    return values.reduce((sum, { value }) => sum + value, 0)
  }
}

/** What the metrics ask of the job engine. */
interface WatchedJobs {
  stats(): {
    readonly threads: readonly { readonly held: number; readonly restarts: number }[]
    readonly unknownTypes: readonly { readonly waiting: number | string | bigint }[]
  }
}
