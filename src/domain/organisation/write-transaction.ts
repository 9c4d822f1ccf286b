import { isLockTimeout, type Tx } from '../../database/index.ts'
import { ConflictError } from '../../errors/index.ts'
import type { Call } from '../call.ts'

/** Somebody else holds what is to be written, for longer than a person wants to wait. */
export class BusyError extends ConflictError {
  constructor() {
    super('Somebody else is writing the same thing right now, so nothing was changed. Try again in a moment.', {
      code: 'orgmodel.version.busy',
    })
  }
}

const LONGEST_WAIT_MS = 5_000

/**
 * A transaction of the call's tenant that waits for a lock as long as a person does.
 * @throws BusyError and what `body` throws
 */
export async function writeTransaction<T>(call: Call, body: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    return await call.database.transaction(call.viewer.tenantId, body, { lockTimeoutMs: LONGEST_WAIT_MS })
  } catch (error) {
    throw isLockTimeout(error) ? new BusyError() : error
  }
}
