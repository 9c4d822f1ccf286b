import { Worker } from 'node:worker_threads'
import Bree from 'bree'

export interface ThreadEvents {
  /** Data for the thread that is about to start under this name. */
  readonly setupOf: (name: string) => object
  readonly onMessage: (name: string, message: unknown) => void
  readonly onError: (name: string, error: Error) => void
  /** The thread is gone, for whatever reason. */
  readonly onExit: (name: string) => void
}

/**
 * Bree, reduced to what it is good for here: holding named threads. It never schedules anything (pitfall 15),
 * and no job of ours is a Bree job: a second run under the same name would only be a warning.
 *
 * The options are each the answer to something: `root: false`, since otherwise a folder `jobs/` must exist
 * (7); `timeout: false`, since the default 0 would start them a second time (10); `closeWorkerAfterMs: 0`,
 * since anything else ends a thread in the middle of its work (14).
 */
export class Threads {
  readonly #bree: Bree

  /** `file` is an absolute path: Bree refuses URLs (pitfall 16). */
  constructor(file: string, names: readonly string[], maxOldGenerationSizeMb: number, events: ThreadEvents) {
    const bree = new Bree({
      root: false,
      doRootCheck: false,
      logger: false,
      timeout: false,
      closeWorkerAfterMs: 0,
      errorHandler: (error, { name }) => events.onError(name, error as Error),
      workerMessageHandler: ({ name, message }) => events.onMessage(name, message),
      jobs: names.map((name) => ({ name, path: file, timeout: false })),
    })
    // Bree takes a path with a `+`, `&` or bracket in it for source code and would evaluate it (pitfall 8). Making
    // the worker ourselves leaves it no choice, and gives each start its own data.
    bree.createWorker = (_path, { workerData }) =>
      new Worker(file, {
        workerData: events.setupOf((workerData as { job: { name: string } }).job.name),
        resourceLimits: { maxOldGenerationSizeMb },
      })
    bree.on('worker deleted', (name: string) => events.onExit(name))
    this.#bree = bree
  }

  /** One at a time and by name: `run()` without a name awaits nothing, and its errors end the process (pitfall 9). */
  run(name: string): Promise<void> {
    return this.#bree.run(name)
  }

  post(name: string, message: object): void {
    this.#bree.workers.get(name)?.postMessage(message)
  }

  get alive(): string[] {
    return [...this.#bree.workers.keys()]
  }

  /** Ends the thread at once; resolves when it is gone. The only thing that a blocked thread obeys (pitfall 2). */
  async kill(name: string): Promise<void> {
    await this.#bree.workers.get(name)?.terminate()
  }

  /**
   * Waits until the threads, which have been told to stop, have ended by themselves; after the deadline those that
   * are left are killed and named. `bree.stop()` alone can wait for ever: the first message after it eats its
   * listener, and it has no timer (pitfall 1).
   */
  async stopped(deadlineMs: number): Promise<string[]> {
    const stops = this.alive.map((name) => this.#bree.stop(name))
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      Promise.allSettled(stops),
      new Promise<void>((resolve) => (timer = setTimeout(resolve, deadlineMs))),
    ])
    clearTimeout(timer)
    const left = this.alive
    await Promise.all(left.map((name) => this.kill(name)))
    return left
  }
}
