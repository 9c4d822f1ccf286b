import type { z } from 'zod'
import type { Tx } from '../../database/index.ts'

/**
 * One reason to write to somebody: what it says, and when it is still worth saying. Written by the domain whose
 * business it is, and handed to `composeMail` in a list; the mail domain knows none of them.
 */
export interface MailKind<Facts> {
  /** Unique and dotted: `orgmodel.draft_reminder`. */
  readonly kind: string
  /**
   * Ids, codes and numbers that the text needs and that cannot be read again at dispatch. No names, no texts, no
   * addresses: they stay in the row as long as it is kept.
   */
  readonly facts: z.ZodType<Facts>
  /**
   * Asked before EACH dispatch (the first, a retry, after a restart, by an operator's hand), in a transaction of the
   * mail's tenant: the text, or the reason why there is nothing to say any more (J31). Reads only.
   */
  readonly compose: (tx: Tx, mail: MailToCompose<Facts>) => Promise<MailContent | NothingToSay>
}

export interface MailToCompose<Facts> {
  readonly id: string
  /** Id of what it is about. */
  readonly about: string
  /** `sub` of the one it is for. */
  readonly recipient: string
  /** Language of the text, as a BCP 47 tag. */
  readonly locale: string
  readonly facts: Facts
  readonly correlationId: string
}

/** What the recipient reads. Control characters in `subject` become blanks; it is cut at 200 characters. */
export interface MailContent {
  readonly subject: string
  readonly text: string
  readonly html?: string
}

/** The mail is cancelled with this reason: a stable, dotted code. */
export interface NothingToSay {
  readonly notApplicable: string
}

/** A kind whose facts are forgotten: a list of them can have no other element type. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyMailKind = MailKind<any>

/** Gives the kind its type of facts. */
export const defineMailKind = <Facts>(kind: MailKind<Facts>): MailKind<Facts> => kind
