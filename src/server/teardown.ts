import type { Logger } from './log.ts'

/**
 * What has been started and must be stopped, in the opposite order. A stop that fails is logged and the next
 * one still runs: a database must not stay open because a socket would not close.
 */
export class Teardown {
  readonly #log: Logger
  readonly #steps: { readonly name: string; readonly stop: () => Promise<unknown> }[] = []
  #running: Promise<void> | null = null

  constructor(log: Logger) {
    this.#log = log
  }

  add(name: string, stop: () => Promise<unknown>): void {
    this.#steps.push({ name, stop })
  }

  /** Safe to call again: there is one stop, and everybody waits for it. */
  run(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<void> {
    for (const { name, stop } of this.#steps.reverse()) {
      try {
        await stop()
        this.#log.debug({ part: name }, 'stopped')
      } catch (error) {
        this.#log.error({ err: error, part: name }, 'did not stop cleanly')
      }
    }
  }
}
