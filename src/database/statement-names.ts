/**
 * Names for the SQL that Prisma writes, so that each connection prepares a text once. Bounded: a list of changing
 * length in a `where … in` gives a text of its own per length, and every prepared statement costs memory in each
 * connection for as long as that lives. So a text gets a name when it is seen again, and only so many do.
 */
export class StatementNames {
  readonly #names = new Map<string, string>()
  readonly #seenOnce = new Set<string>()
  readonly #most: number

  constructor(most = 300) {
    this.#most = most
  }

  /** The text's name; empty, which means unnamed, for the first sight of it and when all names are given out. */
  of(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    if (this.#names.size >= this.#most) return ''
    if (!this.#seenOnce.delete(text)) {
      if (this.#seenOnce.size >= this.#most) this.#seenOnce.clear()
      this.#seenOnce.add(text)
      return ''
    }
    const name = `prisma_${this.#names.size}`
    this.#names.set(text, name)
    return name
  }
}
