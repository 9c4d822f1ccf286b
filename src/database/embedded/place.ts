import { createHash } from 'node:crypto'
import { accessSync, constants, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '../startup-error.ts'
import type { Account } from './account.ts'

/**
 * The folder that holds the embedded server's files: `.data/` of the project, or, for root, one under /var/tmp,
 * because the account the server then runs under can seldom enter root's home.
 */
export function placeOf(project: string, account: Account | undefined): string {
  const place =
    account === undefined
      ? join(project, '.data')
      : join('/var/tmp', `regie-${createHash('sha256').update(project).digest('hex').slice(0, 16)}`)
  try {
    mkdirSync(place, { recursive: true, mode: 0o755 })
    accessSync(place, constants.W_OK)
  } catch (error) {
    throw new StartupError(
      `The folder ${place} for the embedded PostgreSQL cannot be used.`,
      `${(error as Error).message}.`,
      'Give this user the right to write there, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    )
  }
  if (account !== undefined) refuseForeign(place)
  return place
}

/** /var/tmp is everybody's: a folder that somebody else put there first must not be trusted with programs. */
function refuseForeign(place: string): void {
  const found = lstatSync(place)
  if (found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0) return
  throw new StartupError(
    `The folder ${place} is not safe to keep the embedded PostgreSQL in.`,
    'It belongs to another user or others may write to it.',
    'Remove it, or set DATABASE_URL to a PostgreSQL of your own.',
  )
}
