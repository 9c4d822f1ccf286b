import { test } from 'vitest'
import { useDatabase } from '../harness/database.ts'
import { race } from './race.ts'
import { useEffects, useProcesses } from './threads-support.ts'

const db = useDatabase()
const effects = useEffects(db)
const processes = useProcesses(db)

test('J61 J105 two processes of four threads never run one attempt twice: 20,000 jobs', () =>
  race({ db, effects, processes }, { effects: 4_000, noops: 16_000, processes: 2, threads: 4 }))
