import { mailAddress } from './address.ts'

/** What every mail is from. */
export interface Sender {
  readonly name: string
  readonly address: string
}

/** `Regie <regie@example.org>` or `regie@example.org`; null when the text is neither. */
export function senderOf(text: string): Sender | null {
  const named = /^([^<>"\p{Cc}]*)<([^<>]*)>$/u.exec(text.trim())
  const address = mailAddress((named === null ? text : named[2]!).trim())
  return address === null ? null : { name: named?.[1]?.trim() ?? '', address }
}
