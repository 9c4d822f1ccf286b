import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../database/index.ts'
import { schema } from './index.ts'
import { printedSchema } from './printed-schema.ts'

// `npm run schema`: writes what the code says to schema.graphql, which clients are generated from.
const file = join(projectFolder(), 'schema.graphql')
writeFileSync(file, printedSchema(schema))
process.stdout.write(`Written: ${file}\n`)
