/** Which part of a list, newest first: the rows after one, or those before one; keys are ids (UUIDv7). */
export interface PageRequest {
  /** 1 to 100. */
  readonly limit: number
  readonly after?: string
  readonly before?: string
}

export const MOST_ROWS = 100

/** How many rows to read: one more than asked, which tells whether there are others. */
export function rowsToRead({ limit, after, before }: PageRequest): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_ROWS)
    throw new RangeError(`A page has 1 to ${MOST_ROWS} rows, not ${limit}.`)
  if (after !== undefined && before !== undefined)
    throw new RangeError('A page is read after a row or before one, not both.')
  return limit + 1
}

/** Makes the page of what was read, nearest to the key first. */
export function pageOf<Row>(request: PageRequest, read: readonly Row[]): { rows: Row[]; hasMore: boolean } {
  const rows = read.slice(0, request.limit)
  return { rows: request.before === undefined ? rows : rows.reverse(), hasMore: read.length > request.limit }
}
