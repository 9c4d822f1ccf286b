import { createPublicKey } from 'node:crypto'
import { createRemoteJWKSet, errors, jwtVerify, type CryptoKey, type JWTPayload } from 'jose'
import { z } from 'zod'
import { isStorable } from '../database/index.ts'

/** Where keys come from and what a token must say. */
export interface TokenRules {
  readonly keys: { readonly jwksUrl: string } | { readonly publicKeyPem: string } | { readonly key: CryptoKey }
  readonly issuer: string
  readonly audience: string
  /** Asymmetric algorithms only; a token signed with any other is refused whatever its header says. */
  readonly algorithms: readonly string[]
  /** Names of the claims that hold the tenant's id and the roles. */
  readonly tenantClaim: string
  readonly rolesClaim: string
  /** Name of the claim that holds a mail address; a token need not have it. */
  readonly emailClaim: string
}

/** What a verified token says. */
export interface Claims {
  readonly subject: string
  /** Null in an operator's token that names no tenant. */
  readonly tenantId: string | null
  readonly roles: readonly string[]
  /** Where mail reaches the subject; null when the token does not say, or says that nobody has verified it. */
  readonly email: string | null
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** The token is missing, malformed, expired, not for us, or withdrawn. `message` is safe to show to its holder. */
export class TokenRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TokenRefused'
  }
}

/** The keys cannot be fetched now: says nothing about the token. */
export class KeysUnavailable extends Error {
  constructor(cause: unknown) {
    super('The identity provider’s keys cannot be fetched now. Try again shortly.', { cause })
    this.name = 'KeysUnavailable'
  }
}

/** Checks tokens: signature, issuer, audience, expiry, algorithm and the shape of the claims. */
export type VerifyToken = (token: string) => Promise<Claims>

/** @returns a function that throws `TokenRefused` or `KeysUnavailable`. */
export function makeTokenVerifier(rules: TokenRules): VerifyToken {
  const options = {
    issuer: rules.issuer,
    audience: rules.audience,
    algorithms: [...rules.algorithms],
    requiredClaims: ['sub', 'iat', 'exp'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  }
  const verify = verifierOf(rules)
  return async (token) => {
    let payload: JWTPayload
    try {
      payload = (await verify(token, options)).payload
    } catch (error) {
      throw refusal(error)
    }
    return claimsOf(payload, rules)
  }
}

// Two machines' clocks differ; jose allows nothing by default.
const CLOCK_TOLERANCE_SECONDS = 5

type Verify = (token: string, options: Parameters<typeof jwtVerify>[2]) => Promise<{ payload: JWTPayload }>

function verifierOf(rules: TokenRules): Verify {
  if ('jwksUrl' in rules.keys) {
    const keys = createRemoteJWKSet(new URL(rules.keys.jwksUrl), { timeoutDuration: 3_000, cooldownDuration: 10_000 })
    return (token, options) => jwtVerify(token, keys, options)
  }
  // Not jose's importSPKI: it ties the key to one algorithm, and an RSA key serves several.
  const key = 'key' in rules.keys ? rules.keys.key : createPublicKey(rules.keys.publicKeyPem)
  return (token, options) => jwtVerify(token, key, options)
}

function refusal(error: unknown): Error {
  if (error instanceof errors.JWTExpired)
    return new TokenRefused('The token has expired. Get a new one from your identity provider.')
  if (error instanceof errors.JWTClaimValidationFailed)
    return new TokenRefused(`The token’s claim "${error.claim}" is missing or not what this server expects.`)
  if (error instanceof errors.JOSEAlgNotAllowed)
    return new TokenRefused('The token is signed with an algorithm that this server does not accept.')
  if (error instanceof errors.JWKSTimeout || !(error instanceof errors.JOSEError)) return new KeysUnavailable(error)
  // A JWKS address that answers with an error page is reported as a bare JOSEError.
  if (error.code === 'ERR_JOSE_GENERIC') return new KeysUnavailable(error)
  return new TokenRefused('The token is not valid: its form or its signature is wrong.')
}

/** `sub` of a token. */
export const LONGEST_SUBJECT = 200

// What SMTP can carry.
const LONGEST_EMAIL = 254

const text = (longest: number) => z.string().min(1).max(longest).refine(isStorable)
const ROLES = z.array(text(100)).max(50)

function claimsOf(payload: JWTPayload, rules: TokenRules): Claims {
  const subject = text(LONGEST_SUBJECT).safeParse(payload.sub)
  if (!subject.success)
    throw new TokenRefused(`The token’s claim "sub" must be a text of 1 to ${LONGEST_SUBJECT} characters.`)
  const roles = ROLES.safeParse(payload[rules.rolesClaim] ?? [])
  if (!roles.success) throw new TokenRefused(`The token’s claim "${rules.rolesClaim}" must be a list of role names.`)
  const tenant = z.uuid().nullish().safeParse(payload[rules.tenantClaim])
  if (!tenant.success) throw new TokenRefused(`The token’s claim "${rules.tenantClaim}" must be a tenant’s UUID.`)
  return {
    subject: subject.data,
    tenantId: tenant.data?.toLowerCase() ?? null,
    roles: roles.data,
    email: emailOf(payload, rules.emailClaim),
    issuedAt: issuedAt(payload.iat!),
    expiresAt: new Date(Math.min(payload.exp! * 1000, LAST_MOMENT)),
  }
}

/** Mail is a convenience: an address that cannot be one keeps nobody out, it is as if the token had none. */
function emailOf(payload: JWTPayload, claim: string): string | null {
  if (payload['email_verified'] === false) return null
  const email = EMAIL.safeParse(payload[claim])
  return email.success ? email.data : null
}

const EMAIL = text(LONGEST_EMAIL).regex(/^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u)

// What a Date can hold.
const LAST_MOMENT = 8.64e15

/**
 * jose does not look at a moment of issue that lies ahead. Such a token would outlive every revocation until then,
 * and its roles would win over those of every newer one.
 */
function issuedAt(seconds: number): Date {
  const ahead = seconds - Date.now() / 1000
  if (seconds >= 0 && ahead <= CLOCK_TOLERANCE_SECONDS) return new Date(seconds * 1000)
  throw new TokenRefused('The token’s claim "iat" lies in the future or is no moment at all. Check the clocks.')
}
