/** Where the engine writes what people should know; a pino logger fits. No payload ever goes in. */
export interface JobLogger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
