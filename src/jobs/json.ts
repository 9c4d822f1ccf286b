/** What JSON can say and PostgreSQL's jsonb refuses: NUL, and half of a surrogate pair. */
const REFUSED = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g

/** JSON text of anything, with the characters that jsonb refuses replaced: for texts whose loss would be worse. */
export const storableJson = (value: unknown): string => JSON.stringify(value).replace(REFUSED, '$1\\ufffd')

/** Whether jsonb takes this JSON text as it is. */
export const isStorable = (json: string): boolean => json.search(REFUSED) === -1

/** A text with the characters that PostgreSQL refuses replaced. */
export const storableText = (text: string): string =>
  text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '\ufffd')
