import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as engine from '@prisma/schema-engine-wasm/schema_engine_bg'
import { projectFolder } from '../../src/database/index.ts'

/**
 * The SQL that makes an empty database what the Prisma schema says. The engine runs as WebAssembly, since its
 * native form is not to be had everywhere; it serves for this only (it splits a script on `;` inside `$$ … $$`).
 */
export async function prismaSql(url: string): Promise<string> {
  load()
  const folder = join(projectFolder(), 'prisma')
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.prisma'))
    .map((name) => ({ path: join('prisma', name), content: readFileSync(join(folder, name), 'utf8') }))
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url }))
  const schema = await engine.SchemaEngine.new(
    { datamodels: files.map(({ path, content }) => [path, content]) },
    () => {},
    adapter,
  )
  const { stdout } = await schema.diff({
    from: { tag: 'empty' },
    to: { tag: 'schemaDatamodel', files },
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  })
  if (stdout === null || stdout === undefined) throw new Error('The schema engine printed nothing.')
  return stdout
}

function load(): void {
  const entry = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm')
  const bytes = readFileSync(entry.replace('schema_engine.js', 'schema_engine_bg.wasm'))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
    './schema_engine_bg.js': engine as unknown as WebAssembly.ModuleImports,
  })
  engine.__wbg_set_wasm(exports)
  ;(exports['__wbindgen_start'] as () => void)()
}
