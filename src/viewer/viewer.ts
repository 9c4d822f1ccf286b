/** What every verified token says, whoever holds it. */
export interface Identity {
  /** `sub` of the token. */
  readonly subject: string
  readonly roles: readonly string[]
  readonly tokenIssuedAt: Date
  /** The token's end; a WebSocket closes then. */
  readonly tokenExpiresAt: Date
  /** Carried by every event, job and log line that this call causes. */
  readonly correlationId: string
}

/** Who is asking, from a verified token. Every call runs as a viewer. */
export interface Viewer extends Identity {
  readonly tenantId: string
}

/**
 * Somebody who acts on the installation: makes tenants, revokes memberships, operates jobs. A token is an
 * operator's when its roles hold `operator`; it may name a tenant too, and then serves for both.
 */
export type Operator = Identity
