import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder that holds Regie's migrations, whether this file runs from `src/` or compiled from `dist/src/`. */
export function projectFolder(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'prisma', 'migrations'))) return folder
    if (folder === dirname(folder)) {
      throw new Error(`No folder above ${import.meta.dirname} holds prisma/migrations: the installation is not whole.`)
    }
  }
}
