import type { Database } from '../database/index.ts'
import type { Viewer } from '../viewer/index.ts'

/**
 * What every public function of a domain takes first: who is asking and the way to the database. The function
 * checks the permission itself, opens its own transaction and throws a `UserError` for what the caller can act on.
 */
export interface Call {
  readonly viewer: Viewer
  readonly database: Database
}
