import { test } from 'vitest'
import { everyScheduleDeliversAll } from './stream.model.ts'

test('R34 R37 every schedule of events, reads, takes and disconnects delivers all, once, in order', async () => {
  await everyScheduleDeliversAll(300)
})
