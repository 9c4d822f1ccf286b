import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Pile } from '../../src/jobs/engine/pile.ts'
import { gate } from './support.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** A pile whose every flush fails once the test lets it. */
function failing() {
  const begun = gate()
  const answer = gate()
  const troubles = gate()
  const flushed: number[][] = []
  const pile = new Pile<number>({
    most: 10,
    flush: async (items) => {
      flushed.push(items)
      begun.open()
      await answer.promise
      throw new Error('Connection terminated unexpectedly')
    },
    onTrouble: () => troubles.open(),
  })
  return { pile, flushed, begun: begun.promise, troubled: troubles.promise, fail: () => answer.open() }
}

test('what cannot be written is tried again', async () => {
  const { pile, flushed, begun, troubled, fail } = failing()
  pile.add(1)
  await begun
  fail()
  await troubled
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1))
  vi.runAllTimers()
  await vi.waitFor(() => expect(flushed).toEqual([[1], [1]]))
  pile.abandon()
})

test('pain 4 an abandoned pile is done: what was on its way or comes later is not tried again for ever', async () => {
  const { pile, flushed, begun, troubled, fail } = failing()
  pile.add(1)
  await begun
  pile.abandon()
  fail()
  await troubled
  await pile.empty()
  pile.add(2)
  expect(pile.size).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
  expect(flushed).toEqual([[1]])
})
