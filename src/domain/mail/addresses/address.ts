import { domainToASCII } from 'node:url'
import { isStorable } from '../../../database/index.ts'

const LONGEST_ADDRESS = 254
const LONGEST_LOCAL_PART = 64

// A dot-atom of RFC 5322, with the letters of RFC 6531. Quoted local parts are legal and used by nobody but attackers.
const LOCAL_PART = /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

/**
 * The one address in the text, its domain as DNS writes it (`bücher.example` is `xn--bcher-kva.example`); null when
 * it is none: a list, a name with an address, anything with a line break.
 */
export function mailAddress(text: string): string | null {
  if (text.length > LONGEST_ADDRESS || !isStorable(text)) return null
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  if (at < 1 || local.length > LONGEST_LOCAL_PART || !LOCAL_PART.test(local)) return null
  const written = text.slice(at + 1)
  // The converter drops line breaks and tabs without a word.
  if (/[\s\p{Cc}]/u.test(written)) return null
  const domain = domainToASCII(written)
  return DOMAIN.test(domain) ? `${local}@${domain}` : null
}
