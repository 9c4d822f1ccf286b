import { test } from 'vitest'
import { useServer } from '../harness/server.ts'
import { cuts, heldTransaction, outage, OUTAGES, quietOutage } from './outage.ts'
import { useEffects } from './threads-support.ts'

const own = useServer()
const parts = { own, effects: useEffects(own) }

test.each(Object.entries(OUTAGES).map(([name, happens], number) => ({ name, happens, number })))(
  'J06 J08 J63 pain 10 the server is $name under load, ten times',
  ({ happens, number }) => outage(parts, (number + 1) * 100_000, happens, 10),
)

test('J08 J63 pain 3 all connections are cut 200 times under load', () => cuts(parts, 500_000, 200))

test('J08 fact 6 a transaction of 60 s that holds rows and a snapshot', () => heldTransaction(parts, 600_000, 60))

test('pain 4 what is said while the database is away for a minute', () => quietOutage(parts, 700_000, 60))
