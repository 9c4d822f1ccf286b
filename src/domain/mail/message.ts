import type { Sender } from './addresses/index.ts'
import type { MailContent } from './kind.ts'

/** A mail as it is handed to the server. */
export interface Message {
  readonly messageId: string
  readonly from: Sender
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html?: string
}

const LONGEST_SUBJECT = 200

/**
 * The same id for every attempt: who gets a second copy can tell. Made of the mail's id, so that it tells nobody
 * more than it has to.
 */
export const messageIdOf = (mailId: string, { address }: Sender): string =>
  `<${mailId}@${address.slice(address.lastIndexOf('@') + 1)}>`

/** What a domain wrote, as headers can carry it. */
export function messageOf(
  content: MailContent,
  head: { readonly messageId: string; readonly from: Sender; readonly to: string },
): Message {
  return {
    ...head,
    subject: oneLine(content.subject),
    text: content.text,
    ...(content.html === undefined ? {} : { html: content.html }),
  }
}

// Names of tenants and drafts end up in subjects: a line break in one of them must not begin a header of its own.
const oneLine = (text: string): string => {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  if (line.length <= LONGEST_SUBJECT) return line
  // Not in the middle of a character that takes two places.
  return `${line.slice(0, LONGEST_SUBJECT - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
