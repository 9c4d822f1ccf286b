import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { queryable } from '../../src/database/index.ts'
import { appendEvents, type LogEvent, type NewEvent } from '../../src/events/index.ts'

/** An event to write, whole but for what the test cares about. */
export function anEvent(given: Partial<NewEvent> = {}): NewEvent {
  return {
    tenantId: TENANT,
    subjectKind: 'thing',
    subjectId: randomUUID(),
    sequence: 1,
    type: 'thing.happened',
    from: null,
    to: null,
    reason: null,
    data: {},
    actor: 'tester',
    correlationId: 'test',
    ...given,
  }
}

/** Writes events on a plain connection, in whatever transaction it is in. */
export const write = (client: pg.Pool | pg.ClientBase, ...events: Partial<NewEvent>[]): Promise<void> =>
  appendEvents(queryable(client, false), events.map(anEvent))

/** What a test compares: the number each event carries in its data. */
export const numbers = (events: readonly LogEvent[]): unknown[] => events.map((event) => event.data['n'])

export const TENANT = '01890000-0000-7000-8000-00000000000a'
export const OTHER_TENANT = '01890000-0000-7000-8000-00000000000b'
