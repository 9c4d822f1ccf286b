import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import { pageOf, rowsToRead } from '../domain/page.ts'
import { connectionOf, type Connection, type PageArgs } from './connection.ts'
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
export async function rowsConnection<const Order extends Columns, Row extends KeyOf<Order>>(
  args: PageArgs,
  order: Order,
  read: (page: PageOfRows) => Promise<Row[]>,
  count: () => Promise<number>,
): Promise<Connection<Row>> {
  const columns = Object.keys(order)
  const kinds = Object.fromEntries(Object.entries(order).map(([column, [kind]]) => [column, kind]))
  return connectionOf(args, {
    isKey: keyIs(kinds),
    keyOf: (row: Row) => Object.fromEntries(columns.map((column) => [column, row[column]!])),
    read: async (request) => {
      const backwards = request.before !== undefined
      const key = request.before ?? request.after
      const steps = Object.entries(order).map(
        ([column, [, direction]]) => [column, backwards ? turned(direction) : direction] as const,
      )
      const rows = await read({
        where: (key === undefined ? {} : beyond(key, steps)) as never,
        orderBy: steps.map(([column, direction]) => ({ [column]: direction })) as never,
        take: rowsToRead(request),
      })
      return pageOf(request, rows)
    },
    count,
  })
}

const turned = (direction: Direction): Direction => (direction === 'asc' ? 'desc' : 'asc')

/** Further in the first column, or equal there and further in the next, and so on. */
const beyond = (
  key: Readonly<Record<string, string | number>>,
  steps: readonly (readonly [column: string, direction: Direction])[],
) => ({
  OR: steps.map(([column, direction], place) => ({
    ...Object.fromEntries(steps.slice(0, place).map(([earlier]) => [earlier, key[earlier]])),
    [column]: { [direction === 'asc' ? 'gt' : 'lt']: key[column] },
  })),
})
