import type { ArgBuilder, ObjectRef } from '@pothos/core'
import { MOST_ROWS, type Page, type PageRequest } from '../domain/page.ts'
import { builder, type Types } from './builder.ts'
import type { ApiContext } from './context.ts'
import { apiError } from './errors/index.ts'
import { decodeKey, encodeKey, keyIs } from './keyset-cursor.ts'

const DEFAULT_ROWS = 20

export interface PageArgs {
  readonly first?: number | null | undefined
  readonly last?: number | null | undefined
  readonly after?: string | null | undefined
  readonly before?: string | null | undefined
}

/** A page as a connection's fields read it. `count` runs only when `totalCount` is selected. */
export interface Connection<Row> {
  readonly edges: { readonly cursor: string; readonly node: Row }[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
  readonly count: () => Promise<number | null>
}

/**
 * The part of a list that the arguments ask for.
 * @throws BAD_USER_INPUT for a page size out of range, both directions at once, or a cursor of another list
 */
export function pageRequestOf<Key>(args: PageArgs, isKey: (key: unknown) => key is Key): PageRequest<Key> {
  const { first = null, last = null, after = null, before = null } = args
  if (first !== null && last !== null) throw refused('first', 'Use "first" or "last", not both.')
  if (after !== null && before !== null) throw refused('after', 'Use "after" or "before", not both.')
  if (last !== null && before === null) throw refused('last', '"last" reads backwards from "before"; give both.')
  if (first !== null && before !== null) throw refused('first', '"before" is read with "last".')
  const limit = first ?? last ?? DEFAULT_ROWS
  if (limit < 1 || limit > MOST_ROWS)
    throw refused(first === null ? 'last' : 'first', `A page has 1 to ${MOST_ROWS} items.`)
  if (before !== null) return { limit, before: decodeKey(before, 'before', isKey) }
  return after === null ? { limit } : { limit, after: decodeKey(after, 'after', isKey) }
}

const refused = (argument: keyof PageArgs, message: string) =>
  apiError('BAD_USER_INPUT', message, { inputPath: [argument] })

/** Reads the page that the arguments ask for and gives it the shape of a connection. */
export async function connectionOf<Row, Key>(
  args: PageArgs,
  list: {
    readonly isKey: (key: unknown) => key is Key
    readonly keyOf: (row: Row) => Key
    readonly read: (page: PageRequest<Key>) => Promise<Page<Row>>
    readonly count?: () => Promise<number | null>
  },
): Promise<Connection<Row>> {
  const request = pageRequestOf(args, list.isKey)
  const { rows, hasMore } = await list.read(request)
  const edges = rows.map((node) => ({ node, cursor: encodeKey(list.keyOf(node)) }))
  const backwards = request.before !== undefined
  return {
    edges,
    pageInfo: {
      // Whoever reads on from an item knows that this item lies behind; only the far side is counted.
      hasNextPage: backwards ? true : hasMore,
      hasPreviousPage: backwards ? hasMore : request.after !== undefined,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    count: async () => (await list.count?.()) ?? null,
  }
}

/** Declares `…Connection` and `…Edge` of a type. */
export function connectionType<Row>(type: ObjectRef<Types, Row>, plural: string) {
  const name = `${type.name}Connection`
  return builder.objectRef<Connection<Row>>(name).implement({
    description: `A page of ${plural}.`,
    fields: (t) => ({
      edges: t.field({
        type: [edgeType(type)],
        description: 'The items of this page, each with its cursor.',
        complexity: { field: 1, multiplier: 1 },
        resolve: (page) => page.edges,
      }),
      nodes: t.field({
        type: [type] as never,
        description: 'The items of this page, without their cursors.',
        complexity: { field: 1, multiplier: 1 },
        resolve: (page) => page.edges.map((edge) => edge.node) as never,
      }),
      pageInfo: t.field({
        type: builder.pageInfoRef(),
        description: 'Where this page stands in the whole list.',
        complexity: { field: 0, multiplier: 1 },
        resolve: (page) => page.pageInfo,
      }),
      totalCount: t.int({
        nullable: true,
        description: 'How many items the whole list has. Counted only when asked for; null where that failed.',
        // Multiplied by the size of the page like everything in a connection: ten points for a page of a hundred.
        complexity: 0.1,
        resolve: (page) => page.count(),
      }),
    }),
  })
}

function edgeType<Row>(type: ObjectRef<Types, Row>) {
  return builder.objectRef<{ readonly cursor: string; readonly node: Row }>(`${type.name}Edge`).implement({
    description: 'An item of a page and its place in the list.',
    fields: (t) => ({
      cursor: t.exposeString('cursor', {
        description: 'Where the item stands: pass it as `after` or `before`.',
        complexity: 0,
      }),
      node: t.field({
        type: type as never,
        description: 'The item.',
        complexity: 0,
        resolve: (edge) => edge.node as never,
      }),
    }),
  })
}

/** The four arguments of every connection, and what a page costs: one, and its fields once per item asked for. */
export const pageArgs = (t: { arg: ArgBuilder<Types> }) => ({
  first: t.arg.int({
    description: `How many items from the start or after \`after\`: 1 to ${MOST_ROWS}. Default ${DEFAULT_ROWS}.`,
  }),
  after: t.arg.string({ description: 'Only items after the one with this cursor.' }),
  last: t.arg.int({ description: `How many items before \`before\`: 1 to ${MOST_ROWS}. Goes with \`before\`.` }),
  before: t.arg.string({ description: 'Only items before the one with this cursor. Goes with `last`.' }),
})

/** Complexity of a connection field. */
export const pageCost = (args: PageArgs, _context: ApiContext): { field: number; multiplier: number } => ({
  field: 1,
  multiplier: Math.max(1, args.first ?? args.last ?? DEFAULT_ROWS),
})

/** A connection over what is in memory already, in the order given; `idOf` says where a page goes on. */
export async function connectionOfArray<Row>(
  args: PageArgs,
  rows: readonly Row[],
  idOf: (row: Row) => string,
): Promise<Connection<Row>> {
  const placeOf = (id: string) => rows.findIndex((row) => idOf(row) === id)
  return connectionOf(args, {
    isKey: keyIs({ id: 'string' }),
    keyOf: (row) => ({ id: idOf(row) }),
    read: async ({ limit, after, before }) => {
      if (before !== undefined) {
        const to = Math.max(0, placeOf(before.id))
        return { rows: rows.slice(Math.max(0, to - limit), to), hasMore: to > limit }
      }
      const from = after === undefined ? 0 : placeOf(after.id) + 1
      return { rows: rows.slice(from, from + limit), hasMore: from + limit < rows.length }
    },
    count: async () => rows.length,
  })
}
