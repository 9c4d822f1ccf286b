import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '../database/index.ts'

/**
 * A text made once and kept in a file that only this user can read. Two first starts at the same moment agree:
 * whoever links its file first wins, and the other one reads that.
 */
export async function keptSecret(folder: string, name: string, make: () => Promise<string>): Promise<string> {
  const path = join(folder, name)
  try {
    if (!existsSync(path)) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const draft = join(folder, `.${name}.${process.pid}.${randomBytes(4).toString('hex')}`)
      writeFileSync(draft, await make(), { mode: 0o600 })
      try {
        linkSync(draft, path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      } finally {
        rmSync(draft, { force: true })
      }
      chmodSync(path, 0o600)
    }
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartupError(
      `Regie cannot keep its key in ${path}.`,
      `The system says: ${(error as Error).message}.`,
      'Give this user the right to write there.',
      { cause: error },
    )
  }
}

export const randomSecret = async (): Promise<string> => randomBytes(32).toString('base64url')
