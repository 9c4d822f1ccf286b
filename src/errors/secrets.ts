/**
 * What a secret is, in one place: payloads with one are refused, and whatever is written down or shown loses it. Found by
 * the name of what holds it, or by its own look; a word that is a secret and looks like none cannot be found.
 */

const NAMES =
  'pass(?:word|wd|phrase)|secret|client[-_]?secret|(?:access|refresh|id|bearer|auth|api)?[-_]?token|api[-_]?key|' +
  'private[-_]?key|authorization|cookie|credentials?'

const SECRET_NAME = new RegExp(`^(?:${NAMES})$`, 'i')

/** Whether a field of this name holds a secret, whatever its value looks like. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name)

const SIGNED_TOKEN = String.raw`\beyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*`
const PRIVATE_KEY = String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^]*?-----END [A-Z ]*PRIVATE KEY-----|[^]*)`
const ADDRESS = String.raw`\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*:[^\s/@]*@`
// With a digit, since "basic training" is none.
const HEADER = String.raw`\b(bearer|basic)\s+(?=[\w.~+/-]*\d)[\w.~+/-]{8,}=*`

const SECRET_LOOK = new RegExp([SIGNED_TOKEN, PRIVATE_KEY, ADDRESS, HEADER].join('|'), 'i')

/** Whether a text holds what is a secret by its look: a signed token, a private key, an address with a password. */
export const looksSecret = (text: string): boolean => SECRET_LOOK.test(text)

const REPLACED: readonly (readonly [RegExp, string])[] = [
  [new RegExp(SIGNED_TOKEN, 'gi'), '[token]'],
  [new RegExp(PRIVATE_KEY, 'gi'), '[private key]'],
  [new RegExp(ADDRESS, 'gi'), '$1[redacted]@'],
  [new RegExp(HEADER, 'gi'), '$1 [redacted]'],
  // `password: hunter2`, `"apiKey": "…"`, `token=…`; what was replaced above stays readable.
  [
    new RegExp(
      String.raw`(?<![\w-])(${NAMES})(["']?\s*[:=]\s*)(?!\[)("[^"]*"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s,;}&]+)`,
      'gi',
    ),
    '$1$2[redacted]',
  ],
]

// No secret is found in a text without one of these, and nearly every text has none.
const MARKS = [':', '=', 'eyJ', 'earer', 'EARER', 'asic', 'ASIC', '-----BEGIN']
const SUSPICIOUS = new RegExp(String.raw`eyJ|-----BEGIN|:\/\/[^\s/@]*@|bearer|basic|(?:${NAMES})["']?\s*[:=]`, 'i')

/** The text with every secret in it replaced. */
export function withoutSecrets(text: string): string {
  if (!MARKS.some((mark) => text.includes(mark)) || !SUSPICIOUS.test(text)) return text
  return REPLACED.reduce((kept, [pattern, instead]) => kept.replace(pattern, instead), text)
}

const DEEPEST = 8

/** JSON-like data with the values of secret names, and secrets in texts, replaced; too deep down it is left out. */
export function dataWithoutSecrets(data: unknown, depth = 0): unknown {
  if (typeof data === 'string') return withoutSecrets(data)
  if (typeof data !== 'object' || data === null || !isPlain(data)) return data
  if (depth === DEEPEST) return '[too deep]'
  if (Array.isArray(data)) return data.map((item) => dataWithoutSecrets(item, depth + 1))
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      withoutSecrets(name),
      isSecretName(name) && value != null ? '[redacted]' : dataWithoutSecrets(value, depth + 1),
    ]),
  )
}

// Errors, dates and the like are written by whoever knows them.
function isPlain(data: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(data)
  return Array.isArray(data) || prototype === Object.prototype || prototype === null
}
