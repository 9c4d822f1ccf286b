export { migrate, type MigrationReport, requireMigrated } from './migrate.ts'
export { type Migration, migrationFiles } from './migration-files.ts'
