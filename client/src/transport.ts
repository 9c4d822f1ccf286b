import type { Answer } from './connection.ts'
import type { RequestBody } from './operation.ts'

/** One way to carry a subscription. */
export interface Transport {
  /**
   * Carries one subscription until it ends: resolves when the server completes it, rejects with a RegieError when
   * the connection breaks or the server refuses. Ends quietly when the signal aborts.
   */
  run(body: RequestBody, next: (answer: Answer) => void, signal: AbortSignal): Promise<void>
  dispose(): Promise<void>
}
