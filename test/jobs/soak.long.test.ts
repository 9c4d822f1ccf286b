import { test } from 'vitest'
import { useDatabase } from '../harness/database.ts'
import { soak } from './soak.ts'
import { useEffects } from './threads-support.ts'

const db = useDatabase()
const effects = useEffects(db)

test(
  'pain 47 pain 19 a million jobs leave nothing behind but their history',
  () => soak(db, effects, { jobs: 1_000_000, readEvery: 50_000 }),
  3_600_000,
)
