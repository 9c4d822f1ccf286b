import { streamLifetimes } from './stream-lifetimes.ts'

streamLifetimes(100)
