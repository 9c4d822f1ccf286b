import { GraphQLError, Kind, type ValueNode } from 'graphql'

export const MOST_JSON_DEPTH = 20
export const MOST_JSON_BYTES = 64 * 1024

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined }

/** @throws GraphQLError when too deep, too large, or a key would reach an object's prototype */
export function parseJson(value: unknown): JsonValue {
  check(value, 1)
  if (Buffer.byteLength(JSON.stringify(value) ?? 'null') > MOST_JSON_BYTES) {
    throw new GraphQLError(`JSON must be at most ${MOST_JSON_BYTES / 1024} KiB.`)
  }
  return value as JsonValue
}

export function parseJsonObject(value: unknown): Record<string, JsonValue> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return parseJson(value) as Record<string, JsonValue>
  }
  throw new GraphQLError('JSONObject must be an object.')
}

function check(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > MOST_JSON_DEPTH) throw new GraphQLError(`JSON must be at most ${MOST_JSON_DEPTH} levels deep.`)
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw new GraphQLError('JSON must not have a key "__proto__".')
    check((value as Record<string, unknown>)[key], depth + 1)
  }
}

/** JSON written out in the document instead of a variable; variables may stand inside it. */
export function jsonLiteral(node: ValueNode, variables?: Readonly<Record<string, unknown>> | null): unknown {
  return literal(node, variables ?? {}, 1)
}

function literal(node: ValueNode, variables: Readonly<Record<string, unknown>>, depth: number): unknown {
  if (depth > MOST_JSON_DEPTH + 1) throw new GraphQLError(`JSON must be at most ${MOST_JSON_DEPTH} levels deep.`)
  switch (node.kind) {
    case Kind.STRING:
    case Kind.BOOLEAN:
    case Kind.ENUM:
      return node.value
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value)
    case Kind.NULL:
      return null
    case Kind.VARIABLE:
      return variables[node.name.value] ?? null
    case Kind.LIST:
      return node.values.map((item) => literal(item, variables, depth + 1))
    case Kind.OBJECT:
      // `fromEntries` defines keys rather than assigning them, so "__proto__" stays a key that `check` finds.
      return Object.fromEntries(
        node.fields.map((field) => [field.name.value, literal(field.value, variables, depth + 1)]),
      )
  }
}
