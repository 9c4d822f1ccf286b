import { test } from 'vitest'
import { useServer } from '../harness/server.ts'
import { everyReaderGetsAll } from './writers.ts'

const own = useServer()

test('§6 16 writers, a third held up to 20 ms, 5 % rolled back: every reader gets all, once, in order (long)', async () => {
  await everyReaderGetsAll(own, { writers: 16, transactionsPerWriter: 2_000 })
})
