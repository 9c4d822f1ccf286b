/** Who is asking, from a verified token. Every call runs as a viewer. */
export interface Viewer {
  readonly tenantId: string
  /** `sub` of the token. */
  readonly subject: string
  readonly roles: readonly string[]
  readonly tokenIssuedAt: Date
  /** The token's end; a WebSocket closes then. */
  readonly tokenExpiresAt: Date
  /** Carried by every event, job and log line that this call causes. */
  readonly correlationId: string
}
