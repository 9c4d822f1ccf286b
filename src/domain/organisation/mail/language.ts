/** The languages that mails of the organisation are written in. */
export type Language = 'en' | 'nl'

/** The one of our languages that a BCP 47 tag asks for; English for every other. */
export const languageOf = (locale: string): Language => (/^nl\b/i.test(locale) ? 'nl' : 'en')

/** What a draft is called in a sentence. */
export function draftName({ number, name }: { number: number; name: string | null }, language: Language): string {
  const called = name === null ? '' : language === 'nl' ? ` ‘${name}’` : ` “${name}”`
  return language === 'nl' ? `Concept ${number}${called}` : `Draft ${number}${called}`
}
