import type { Message } from './message.ts'

/** The way to a mail server. */
export interface MailTransport {
  /**
   * Resolves when the server has taken the message over, with its answer's codes.
   * @throws Failure, classified; the signal's reason when it was aborted
   */
  send(message: Message, signal: AbortSignal): Promise<{ readonly reply: string }>
  /** Closes idle connections at once and busy ones when their message is out. */
  close(): void
}
