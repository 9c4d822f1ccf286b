import type { Tx } from '../../database/index.ts'
import type { Call } from '../call.ts'

/** Runs a statement whose `$1` is the tenant: a transaction, or a single read outside one. */
export type Reader = Pick<Tx, 'query'>

/** Reads of the call's tenant, each in a snapshot of its own. */
export const readerOf = ({ viewer, database }: Call): Reader => ({
  query: (sql, values) => database.run(sql, [viewer.tenantId, ...values]),
})
