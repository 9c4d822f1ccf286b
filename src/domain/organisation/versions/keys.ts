import { isStorable } from '../../../database/index.ts'
import { ValidationError } from '../../../errors/index.ts'

/** What an attribute's key looks like: templates, imports and programs name the attribute by it. */
const ATTRIBUTE_KEY = /^[a-z][a-z0-9_]{0,63}$/

/** What a name that people read may be: something, and not endlessly long. */
const LONGEST_LABEL = 200
const LONGEST_VALUE_KEY = 200
const LONGEST_DESCRIPTION = 2_000

/** A rule that a key or label breaks; null when it keeps them all. */
export type Broken = { readonly code: string; readonly message: string } | null

export const attributeKeyProblem = (key: string): Broken =>
  ATTRIBUTE_KEY.test(key)
    ? null
    : {
        code: 'orgmodel.key_invalid',
        message: `"${key}" cannot be the key of an attribute: begin with a letter and use a–z, 0–9 and _ only, at most 64.`,
      }

/** Keys of values are codes of the outside world, so all but blanks around and unseen characters is allowed. */
export const valueKeyProblem = (key: string): Broken =>
  key !== '' && key.length <= LONGEST_VALUE_KEY && key === key.trim() && !/[\p{Cc}\p{Cs}]/u.test(key)
    ? null
    : {
        code: 'orgmodel.key_invalid',
        message: `The key of a value has 1 to ${LONGEST_VALUE_KEY} visible characters without blanks around them.`,
      }

export const labelProblem = (label: string): Broken =>
  label.trim() !== '' && label.length <= LONGEST_LABEL && isStorable(label)
    ? null
    : { code: 'orgmodel.label_invalid', message: `A label has 1 to ${LONGEST_LABEL} characters.` }

export const descriptionProblem = (description: string | null | undefined): Broken =>
  (description ?? '').length <= LONGEST_DESCRIPTION && isStorable(description ?? '')
    ? null
    : { code: 'orgmodel.description_invalid', message: `A description has at most ${LONGEST_DESCRIPTION} characters.` }

/** @throws ValidationError at this field of the input. */
export function mustKeep(broken: Broken, field: string): void {
  if (broken !== null) throw new ValidationError(broken.message, { code: broken.code, path: [field] })
}

/** One way of writing for what looks the same on the screen. */
export const canonicalKey = (key: string): string => key.normalize('NFC')
