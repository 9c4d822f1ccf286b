import { currentCursor } from '../../events/index.ts'
import { INSTALLATION } from '../../jobs/index.ts'
import type { By, OperatingParts } from '../../jobs/operating/index.ts'
import type { ApiContext } from '../context.ts'
import type { Changed } from '../mutation.ts'
import { watchedDatabase } from '../watched-database.ts'

/**
 * Runs an operator's act and takes the place in the log inside its last transaction: the installation's, from which
 * both `operatorEvents` and `jobEvents` go on.
 */
export async function operated<Result>(
  context: ApiContext,
  reason: string,
  act: (parts: OperatingParts, by: By) => Promise<Result>,
): Promise<Changed<Result>> {
  const { operator, database } = context.operatorCall()
  // Before the act, for one that turns out to write nothing: an event may then come twice, but none is missed.
  let eventCursor = await currentCursor(database, INSTALLATION, context.cursors)
  const watched = watchedDatabase(database, {
    atSystemEnd: async (tx) => {
      eventCursor = await currentCursor(tx, INSTALLATION, context.cursors)
    },
    atEnd: async (tx) => {
      eventCursor = await currentCursor(tx, INSTALLATION, context.cursors)
    },
  })
  const { subject: actor, correlationId } = operator
  const result = await act({ database: watched, registry: context.jobs.registry }, { actor, reason, correlationId })
  context.feed.hint()
  context.jobs.events.hint()
  return { result, eventCursor }
}
