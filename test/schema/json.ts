/** What an operation answered: a test says what it expects of it, and that is its type. */
export type Json = any
