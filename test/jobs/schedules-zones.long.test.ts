import { test } from 'vitest'
import { CHANGES, checkQuarters, checkTimesOfDay } from './schedules-zones.ts'

test('pain 25 at every change of fifty years: each local time as an independent count says', () => {
  checkTimesOfDay(CHANGES)
}, 600_000)

test('pain 25 every quarter of an hour goes on at every change of fifty years', () => checkQuarters(CHANGES), 600_000)
