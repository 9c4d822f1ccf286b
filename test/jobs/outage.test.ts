import { test } from 'vitest'
import { useServer } from '../harness/server.ts'
import { cuts, heldTransaction, outage, OUTAGES, quietOutage } from './outage.ts'
import { useEffects } from './threads-support.ts'

const own = useServer()
const parts = { own, effects: useEffects(own) }

test.each(Object.entries(OUTAGES).map(([name, happens], number) => ({ name, happens, number })))(
  'J06 J08 J63 pain 10 the server is $name under load',
  ({ happens, number }) => outage(parts, (number + 1) * 100_000, happens, 1),
  90_000,
)

test('J08 J63 pain 3 all connections are cut ten times under load', () => cuts(parts, 500_000, 10), 90_000)

test('J08 fact 6 a transaction of 3 s that holds rows and a snapshot', () => heldTransaction(parts, 600_000, 3), 90_000)

test('pain 4 what is said while the database is away for 4 s', () => quietOutage(parts, 700_000, 4), 90_000)
