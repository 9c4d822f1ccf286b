// oxlint-disable typescript/no-explicit-any -- the one place where a test's answer is of no known shape

/** What an operation answered: a test says what it expects of it, and that is its type. */
export type Json = any
