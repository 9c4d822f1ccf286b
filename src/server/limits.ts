import type { DocumentLimits } from './document-limits.ts'

/** How much a client may ask of the process. Milliseconds and bytes. */
export interface ServerLimits extends DocumentLimits {
  readonly bodyBytes: number
  readonly bodyMs: number
  readonly messageBytes: number
  readonly operationMs: number
  readonly connectionInitMs: number
  readonly keepAliveMs: number
  readonly stalledMs: number
  readonly subscriptionsPerConnection: number
  readonly connectionsPerSubject: number
  /** WebSockets and event streams of everybody. */
  readonly connections: number
  readonly messagesPerTenSeconds: number
}

export const DEFAULT_LIMITS: ServerLimits = {
  tokens: 2_000,
  depth: 12,
  aliases: 30,
  rootFields: 20,
  directives: 20,
  fields: 1_000,
  bodyBytes: 256 * 1024,
  bodyMs: 10_000,
  messageBytes: 64 * 1024,
  operationMs: 10_000,
  connectionInitMs: 3_000,
  keepAliveMs: 12_000,
  stalledMs: 30_000,
  subscriptionsPerConnection: 50,
  connectionsPerSubject: 20,
  connections: 10_000,
  messagesPerTenSeconds: 200,
}
