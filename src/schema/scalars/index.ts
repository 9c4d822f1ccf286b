import { builder } from '../builder.ts'
import { parseBigInt } from './big-int.ts'
import { parseDateTime, parseDay, serializeDateTime, serializeDay } from './date-time.ts'
import { parseEventCursor } from './event-cursor.ts'
import { jsonLiteral, MOST_JSON_BYTES, MOST_JSON_DEPTH, parseJson, parseJsonObject } from './json.ts'
import { parseUuid } from './uuid.ts'

builder.scalarType('DateTime', {
  description:
    'A moment as RFC 3339 text. Answers are in UTC with milliseconds (`2026-11-30T12:00:00.000Z`); input may have ' +
    'any offset but must have one.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  parseValue: parseDateTime,
  serialize: serializeDateTime as never,
})

builder.scalarType('Date', {
  description: 'A calendar day without a time or a zone, such as `2026-11-30`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339#section-5.6',
  parseValue: parseDay,
  serialize: serializeDay as never,
})

builder.scalarType('UUID', {
  description: 'A UUID in its usual form, in lower case in answers. What webhooks and files speak instead of an `id`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc9562',
  parseValue: parseUuid,
  serialize: String as never,
})

const limits = `At most ${MOST_JSON_BYTES / 1024} KiB and ${MOST_JSON_DEPTH} levels deep as input.`

builder.scalarType('JSON', {
  description: `Any JSON value. ${limits}`,
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  parseValue: parseJson,
  parseLiteral: (node, variables) => parseJson(jsonLiteral(node, variables)),
  serialize: (value) => value as never,
})

builder.scalarType('JSONObject', {
  description: `A JSON object. ${limits}`,
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  parseValue: parseJsonObject,
  parseLiteral: (node, variables) => parseJsonObject(jsonLiteral(node, variables)),
  serialize: (value) => value as never,
})

builder.scalarType('BigInt', {
  description: 'A whole number of 64 bits, as a string of digits, since JSON numbers lose digits above 2^53.',
  parseValue: parseBigInt,
  serialize: String as never,
})

builder.scalarType('EventCursor', {
  description:
    'A place in the tenant’s log of events. Opaque; fits every stream of the tenant. Kept by a client, it resumes a ' +
    'stream without gap for as long as the log reaches back.',
  parseValue: parseEventCursor,
  serialize: String as never,
})
