/** Whether PostgreSQL can hold the text: it knows neither the character NUL nor half of a surrogate pair. */
export const isStorable = (text: string): boolean => !/[\0\p{Cs}]/u.test(text)
