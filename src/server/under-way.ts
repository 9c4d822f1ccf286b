import type { ServerResponse } from 'node:http'

/** The answers that are being written: what a stop waits for. */
export class UnderWay {
  readonly #responses = new Set<ServerResponse>()

  begin(response: ServerResponse): void {
    this.#responses.add(response)
    response.once('close', () => this.#responses.delete(response))
  }

  /** Resolves when those that are under way now are over, at the latest after so long. */
  async over(graceMs: number): Promise<void> {
    const answered = [...this.#responses].map((response) => new Promise<void>((ended) => response.once('close', ended)))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs)
    })
    await Promise.race([late, Promise.all(answered)])
    clearTimeout(timer)
  }
}
