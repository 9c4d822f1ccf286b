import { beforeAll, test } from 'vitest'
import { useServer } from '../../harness/server.ts'
import { range } from '../support.ts'
import { histories } from './histories.ts'
import { makeTables } from './kill-at.ts'

const db = useServer()
beforeAll(() => makeTables(db))

test('J06 J08 J33 J63 J95 J105 whatever dies, in any order: 10 histories', () => histories(db, range(10)), 120_000)
