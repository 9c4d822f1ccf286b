import { statement } from '../../../database/index.ts'
import { bad, good, span, warning, type Check } from '../check.ts'

const SAMPLES = 5
const NOTICEABLE_SECONDS = 1
const HARMFUL_SECONDS = 30

/**
 * How far this machine's clock is from the database's. Due times, leases and expiry follow the database alone, so
 * a difference fires nothing twice; it misleads people who compare logs, and tokens are checked by this clock.
 */
export const clockSkew: Check = {
  name: 'clock',
  async look(database) {
    let best = { roundTrip: Infinity, skew: 0 }
    for (let sample = 0; sample < SAMPLES; sample++) {
      const sent = Date.now()
      const [row] = await database.run(CLOCK, [])
      const received = Date.now()
      // The answer was made somewhere between: the shortest round trip says it most exactly.
      if (received - sent < best.roundTrip)
        best = { roundTrip: received - sent, skew: ((sent + received) / 2 - row!.now) / 1000 }
    }
    const { skew } = best
    const size = Math.abs(skew)
    const says = `This machine’s clock is ${span(size)} ${skew < 0 ? 'behind' : 'ahead of'} the database’s.`
    if (size < NOTICEABLE_SECONDS) return [good(says)]
    const next = 'Let both machines follow the same time servers (chrony or systemd-timesyncd).'
    return [size < HARMFUL_SECONDS ? warning(says, next) : bad(`${says} Tokens may be refused.`, next)]
  },
}

const CLOCK = statement<{ now: number }>(
  'doctor.clock',
  `select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
)
