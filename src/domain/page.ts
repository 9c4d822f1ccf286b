/**
 * Which part of a list: at most `limit` rows after the row with key `after`, or the last ones before the row
 * with key `before`. A key holds what the list is ordered by and ends in something unique.
 */
export interface PageRequest<Key> {
  readonly limit: number
  readonly after?: Key
  readonly before?: Key
}

/** `rows` in the list's order, also when read backwards; `hasMore`: there are others further in that direction. */
export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly hasMore: boolean
}

/** The most rows that one page may ask for. */
export const MOST_ROWS = 100

/**
 * How many rows a statement reads for this request: one more than asked, which tells whether there are others.
 * A limit out of range is a slip of the caller, who checks what people ask for.
 */
export function rowsToRead({ limit }: PageRequest<unknown>): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_ROWS)
    throw new RangeError(`A page has 1 to ${MOST_ROWS} rows.`)
  return limit + 1
}

/** Makes the page of the rows read; `read` comes in reading direction: nearest to the key first. */
export function pageOf<Row>(request: PageRequest<unknown>, read: readonly Row[]): Page<Row> {
  const rows = read.slice(0, request.limit)
  return { rows: request.before === undefined ? rows : rows.reverse(), hasMore: read.length > request.limit }
}
