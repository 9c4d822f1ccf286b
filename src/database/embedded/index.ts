export { EmbeddedPostgres, type EmbeddedOptions } from './embedded-postgres.ts'
