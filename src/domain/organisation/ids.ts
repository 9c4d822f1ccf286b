import { v7, validate } from 'uuid'

/** A new id; ascending in time. */
export const newId = (): string => v7()

/**
 * The one way in which an id is written, lower-case (C08); null when the text is no UUID. Whoever asks for a
 * thing by such a text asks for something that does not exist, not for something broken.
 */
export const canonicalId = (text: string): string | null => (validate(text) ? text.toLowerCase() : null)

/** The ids among the texts, each once. */
export const canonicalIds = (texts: readonly string[]): string[] => [
  ...new Set(texts.map(canonicalId).filter((id) => id !== null)),
]
