import { defineConfig } from 'prisma/config'

// The schema is a folder: one file per domain. `url` stands here only for Prisma's own tools; Regie
// connects through its own pool (src/database/pool.ts).
export default defineConfig({
  schema: 'prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env['DATABASE_URL'] ?? 'postgresql://localhost/regie' },
})
