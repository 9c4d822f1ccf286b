import fc from 'fast-check'
import { expect } from 'vitest'
import { DEFAULT_LIMITS, type EventStream } from '../../src/events/stream.ts'
import { FakeLog, range } from './fake-log.ts'

type Step =
  | { readonly do: 'commit' | 'publish' | 'take' | 'disconnect' | 'slow read' | 'read answers' | 'clock' }
  | { readonly do: 'happen'; readonly count: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { arbitrary: fc.record({ do: fc.constant('happen' as const), count: fc.integer({ min: 1, max: 9 }) }), weight: 3 },
    { arbitrary: fc.constant<Step>({ do: 'commit' }), weight: 2 },
    { arbitrary: fc.constant<Step>({ do: 'publish' }), weight: 2 },
    { arbitrary: fc.constant<Step>({ do: 'take' }), weight: 8 },
    { arbitrary: fc.constant<Step>({ do: 'disconnect' }), weight: 1 },
    { arbitrary: fc.constant<Step>({ do: 'slow read' }), weight: 2 },
    { arbitrary: fc.constant<Step>({ do: 'read answers' }), weight: 2 },
    { arbitrary: fc.constant<Step>({ do: 'clock' }), weight: 1 },
  ),
  { maxLength: 80 },
)

/**
 * Whatever the order of commits, publishing, reads that answer late, takes, disconnects (between replay and live,
 * while a read or a take is open) and the clock that cuts a slow one off: a subscriber who always resumes after the
 * last cursor it got has in the end exactly what was committed, in order.
 */
export async function everyScheduleDeliversAll(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const log = new FakeLog()
      const limits = { ...DEFAULT_LIMITS, queueItems: 4, pageItems: 3 }
      const received: string[] = []
      let cursor = 0
      let answer = () => {}
      let stream = log.stream(0, { limits })
      let taking: Promise<void> | null = null

      const takeOne = async (from: EventStream<string>) => {
        const result = await from.next().catch((error: { code: string; cursor: string }) => {
          expect(error).toMatchObject({ code: 'SLOW_CONSUMER' })
          expect(Number(error.cursor)).toBe(cursor)
          return null
        })
        // What a stream that was left still answers goes to nobody.
        if (from !== stream) return
        if (result === null || result.done) return resume()
        cursor = Number(result.value.cursor)
        if (result.value.kind === 'event') received.push(String(result.value.event.data['n']))
      }
      const resume = () => {
        void stream.return()
        stream = log.stream(cursor, { limits })
        taking = null
      }
      const turn = () => new Promise((resolve) => setImmediate(resolve))

      for (const step of schedule) {
        if (step.do === 'happen') log.happen(step.count)
        else if (step.do === 'commit') log.commit()
        else if (step.do === 'publish') log.publish()
        else if (step.do === 'disconnect') resume()
        else if (step.do === 'clock') log.timers.advance(limits.standstillMs)
        else if (step.do === 'slow read') log.holdReads ??= new Promise((resolve) => (answer = resolve))
        else if (step.do === 'read answers') {
          log.holdReads = null
          answer()
        } else if (taking === null) {
          const mine: Promise<void> = takeOne(stream).then(() => {
            if (taking === mine) taking = null
          })
          taking = mine
        }
        await turn()
      }

      log.holdReads = null
      answer()
      log.publish()
      while (received.length < log.events.length) {
        await (taking ?? takeOne(stream))
        taking = null
      }
      expect(received).toEqual(range(1, log.events.length))
      await stream.return()
      expect(log.hub.size).toBe(0)
      expect(log.timers.size).toBe(0)
    }),
    { numRuns },
  )
}
