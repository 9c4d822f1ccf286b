import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { projectFolder } from '../../src/database/index.ts'

export interface Source {
  /** Path from the project's folder, with `/`. */
  readonly path: string
  readonly text: string
}

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.data', 'generated', 'data', 'coverage'])

/** The files below some folders of the project, without what is generated. */
export function sources(folders: readonly string[], pattern: RegExp): Source[] {
  const project = projectFolder()
  const found: Source[] = []
  const walk = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        if (!LEFT_OUT.has(entry.name)) walk(path)
      } else if (pattern.test(entry.name)) {
        found.push({ path: relative(project, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') })
      }
    }
  }
  for (const folder of folders) walk(join(project, folder))
  return found
}

/** `path:line` of every match of the pattern. */
export function places(files: readonly Source[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(new RegExp(pattern, `${pattern.flags.replace('g', '')}g`))].map(
      (match) => `${path}:${text.slice(0, match.index).split('\n').length} ${match[0].trim()}`,
    ),
  )
}
