import { beforeAll, test } from 'vitest'
import { useServer } from '../../harness/server.ts'
import { range } from '../support.ts'
import { histories } from './histories.ts'
import { makeTables } from './kill-at.ts'

const db = useServer()
beforeAll(() => makeTables(db))

test.each(range(10))('J06 J08 J33 J63 J95 J105 whatever dies, in any order: histories %i00 to %i99', (hundred) =>
  histories(
    db,
    range(100).map((n) => 1_000 + 100 * hundred + n),
  ),
)
