import type { Answer } from './connection.ts'
import type { RequestBody } from './operation.ts'

/** One way to carry a subscription. */
export interface Transport {
  /**
   * Carries one subscription until it ends: resolves when the server completes it, rejects with a RegieError when
   * the connection breaks or the server refuses. Ends quietly when the signal aborts. `connected` is called once
   * the server has accepted the subscription's connection.
   */
  run(
    body: RequestBody,
    handlers: { readonly next: (answer: Answer) => void; readonly connected: () => void },
    signal: AbortSignal,
  ): Promise<void>
  dispose(): Promise<void>
}
