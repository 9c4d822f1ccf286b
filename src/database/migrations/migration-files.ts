import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../project-folder.ts'

/** One folder under `prisma/migrations`. */
export interface Migration {
  /** The folder's name, `<time>_<name>`; their alphabetical order is the order of application. */
  readonly name: string
  readonly sql: string
  /** sha-256 of the file in hexadecimal, as `prisma migrate` records it. */
  readonly checksum: string
  /** False when its first line is `-- no transaction`: each of its statements then commits by itself. */
  readonly inTransaction: boolean
}

/** The migrations that this version of Regie brings, in order. */
export function migrationFiles(folder = join(projectFolder(), 'prisma', 'migrations')): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'migration.sql')))
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8')
      return {
        name,
        sql,
        checksum: createHash('sha256').update(sql).digest('hex'),
        inTransaction: !/^--\s*no transaction\s*$/i.test(sql.split('\n', 1)[0] ?? ''),
      }
    })
}
