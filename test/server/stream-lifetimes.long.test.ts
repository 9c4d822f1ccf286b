import { streamLifetimes } from './stream-lifetimes.ts'

streamLifetimes(1_000)
