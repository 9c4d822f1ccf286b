import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// npm run bench -- <name> [arguments …]
const [name] = process.argv.splice(2, 1)
const file = join(import.meta.dirname, `${name}.js`)
if (name === undefined || name === 'index' || !existsSync(file)) {
  const names = readdirSync(import.meta.dirname)
    .filter((entry) => entry.endsWith('.js') && entry !== 'index.js')
    .map((entry) => entry.slice(0, -3))
  console.error(`Say which benchmark to run: npm run bench -- ${names.join('|')}`)
  process.exit(1)
}
await import(pathToFileURL(file).href)
