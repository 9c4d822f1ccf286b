import { test } from 'vitest'
import { useServer } from '../harness/server.ts'
import { soak } from './soak.ts'
import { useEffects } from './threads-support.ts'

// Vacuumed as the embedded server of an installation is.
const db = useServer({ autovacuum_naptime: '5s' })
const effects = useEffects(db)

test(
  'pain 47 pain 19 a million jobs leave nothing behind but their history',
  () => soak(db, effects, { jobs: 1_000_000, readEvery: 50_000 }),
  3_600_000,
)
