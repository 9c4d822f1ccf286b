import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import { pageOf, rowsToRead, type PageRequest } from '../domain/page.ts'
import { connectionOf, pageRequestOf, type Connection, type PageArgs } from './connection.ts'
import type { ApiContext } from './context.ts'
import { keyIs } from './keyset-cursor.ts'

/**
 * The columns and relations that the selection needs of a connection's rows, and `select` besides: only those are
 * read. The types of rows are in the plugin's `select` mode, so there is never an `include`.
 */
export const selectedRows = <const Select extends Readonly<Record<string, true>>>(
  context: ApiContext,
  info: GraphQLResolveInfo,
  select: Select,
) => queryFromInfo({ context, info, select, paths: [['nodes'], ['edges', 'node']] }) as { select: Select }

type Direction = 'asc' | 'desc'
type Kind = 'string' | 'number' | 'uuid'
type Columns = Readonly<Record<string, readonly [Kind, Direction]>>
type KeyOf<Order extends Columns> = {
  readonly [Column in keyof Order]: Order[Column][0] extends 'number' ? number : string
}

/** What a page's `findMany` gets. */
export interface PageOfRows {
  readonly where: never
  readonly orderBy: never
  readonly take: number
}

/**
 * A connection over rows in a total order: the columns in turn, the last of them unique. Read by keys rather than
 * by Prisma's `cursor`, which looks the row up and gives an empty page when that row is gone.
 */
export const rowsConnection = <const Order extends Columns, Row extends KeyOf<Order>>(
  args: PageArgs,
  order: Order,
  read: (page: PageOfRows) => Promise<Row[]>,
  count: () => Promise<number>,
): Promise<Connection<Row>> =>
  connectionOf(args, {
    isKey: isKeyOf(order),
    keyOf: keyOfRow(order),
    read: async (request) => pageOf(request, await read(findOf(request, order))),
    count,
  })

type Nested = (page: PageOfRows, path: string[], type: string) => unknown

/**
 * What to select of a relation for a connection of it, so that the pages of all parents come with the parents in
 * one statement.
 */
export function nestedRows<const Order extends Columns>(
  nested: Nested,
  type: string,
  args: PageArgs,
  order: Order,
  where: object,
) {
  const page = findOf(pageRequestOf<Key>(args, isKeyOf(order)), order)
  const narrowed = { ...page, where: { AND: [where, page.where] } as never }
  const [nodes, edges] = [['nodes'], ['edges', 'node']].map(
    (path) => nested(narrowed, path, type) as { readonly select?: object },
  )
  const always = Object.fromEntries(Object.keys(order).map((column) => [column, true]))
  const select = { ...nodes?.select, ...edges?.select, ...always }
  return { ...narrowed, select: select as { readonly [Column in keyof Order]: true } }
}

/** The connection of rows that came with their parent, selected by `nestedRows`. */
export const nestedConnection = <const Order extends Columns, Row extends KeyOf<Order>>(
  args: PageArgs,
  order: Order,
  rows: readonly Row[],
  count: () => Promise<number>,
): Promise<Connection<Row>> =>
  connectionOf(args, {
    isKey: isKeyOf(order),
    keyOf: keyOfRow(order),
    read: async (request) => pageOf(request, [...rows]),
    count,
  })

const isKeyOf = (order: Columns): ((key: unknown) => key is Key) =>
  keyIs(Object.fromEntries(Object.entries(order).map(([column, [kind]]) => [column, kind])))

const keyOfRow =
  <Order extends Columns>(order: Order) =>
  (row: KeyOf<Order>): Key =>
    Object.fromEntries(Object.keys(order).map((column) => [column, row[column]!]))

type Key = Readonly<Record<string, string | number>>

function findOf(request: PageRequest<Key>, order: Columns): PageOfRows {
  const backwards = request.before !== undefined
  const key = request.before ?? request.after
  const steps = Object.entries(order).map(
    ([column, [, direction]]) => [column, backwards ? turned(direction) : direction] as const,
  )
  return {
    where: (key === undefined ? {} : beyond(key, steps)) as never,
    orderBy: steps.map(([column, direction]) => ({ [column]: direction })) as never,
    take: rowsToRead(request),
  }
}

const turned = (direction: Direction): Direction => (direction === 'asc' ? 'desc' : 'asc')

/** Further in the first column, or equal there and further in the next, and so on. */
const beyond = (key: Key, steps: readonly (readonly [column: string, direction: Direction])[]) => ({
  OR: steps.map(([column, direction], place) => ({
    ...Object.fromEntries(steps.slice(0, place).map(([earlier]) => [earlier, key[earlier]])),
    [column]: { [direction === 'asc' ? 'gt' : 'lt']: key[column] },
  })),
})
