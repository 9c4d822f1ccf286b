import { exportJWK, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWK } from 'jose'
import { v7 as uuidv7 } from 'uuid'
import { keptSecret } from './secrets.ts'

export interface DevelopmentClaims {
  readonly tenantId?: string
  readonly subject: string
  readonly roles: readonly string[]
  /** Default 12 hours. */
  readonly lifetimeSeconds?: number
}

/**
 * Makes tokens on a developer's machine with a key that stays in the project's data folder, so that a token
 * outlives a restart. They go through the same verification as anybody's.
 */
export interface DevelopmentIssuer {
  readonly publicKey: CryptoKey
  readonly token: (claims: DevelopmentClaims) => Promise<string>
}

const ALGORITHM = 'EdDSA'
const STANDARD_LIFETIME_SECONDS = 12 * 3600

export async function openDevelopmentIssuer(
  folder: string,
  names: { readonly issuer: string; readonly audience: string },
): Promise<DevelopmentIssuer> {
  const jwk = JSON.parse(await keptSecret(folder, 'development-key.json', newKey)) as JWK
  const { d: _private, ...publicJwk } = jwk
  const privateKey = (await importJWK(jwk, ALGORITHM)) as CryptoKey
  const publicKey = (await importJWK(publicJwk, ALGORITHM)) as CryptoKey
  return {
    publicKey,
    token: ({ tenantId, subject, roles, lifetimeSeconds = STANDARD_LIFETIME_SECONDS }) => {
      const now = Math.floor(Date.now() / 1000)
      return new SignJWT({ ...(tenantId === undefined ? {} : { tenant: tenantId }), roles: [...roles] })
        .setProtectedHeader({ alg: ALGORITHM })
        .setIssuer(names.issuer)
        .setAudience(names.audience)
        .setSubject(subject)
        .setJti(uuidv7())
        .setIssuedAt(now)
        .setExpirationTime(now + lifetimeSeconds)
        .sign(privateKey)
    },
  }
}

async function newKey(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  return JSON.stringify(await exportJWK(privateKey))
}
