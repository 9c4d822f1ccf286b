import { expect, test, vi } from 'vitest'
import { RegieError } from '../../client/src/index.ts'
import { Subscription } from '../../client/src/subscription.ts'
import type { Transport } from '../../client/src/transport.ts'

interface Item {
  readonly cursor: string
}

const BODY = { query: 'subscription Things { things { cursor } }', variables: {} }
const never = new AbortController().signal

/** A server that sends items 1 to `last`, from the one after the cursor it is given, and then says nothing more. */
function counting(last: number) {
  const connections: { after: number; sent: number }[] = []
  const run: Transport['run'] = async ({ variables }, next, signal) => {
    const connection = { after: Number(variables?.['after'] ?? 0), sent: 0 }
    connections.push(connection)
    for (let n = connection.after + 1; n <= last; n++) {
      // As a network does: what was on its way when the client let go still arrives.
      if (signal.aborted && n % 100 === 0) return
      connection.sent++
      next({ data: { things: { cursor: String(n) } } })
    }
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  }
  return { connections, transport: { run, dispose: async () => {} } }
}

test('R35 the cursor to keep is that of the last item given out, not of what still waits to be read', async () => {
  const { transport } = counting(5)
  const stream = new Subscription<Item>(transport, BODY, {}, never)
  await stream.next()
  await stream.next()
  expect(stream.cursor).toBe('2')
  await stream.return()
})

test('a reader that stands still does not fill the memory: the stream is let go and taken up again, without gap', async () => {
  const { transport, connections } = counting(25_000)
  const stream = new Subscription<Item>(transport, BODY, {}, never)
  await vi.waitFor(() => expect(connections[0]!.sent).toBeGreaterThanOrEqual(10_000))
  expect(connections[0]!.sent).toBeLessThan(10_200)
  for (let n = 1; n <= 25_000; n++) expect((await stream.next()).value!.cursor).toBe(String(n))
  expect(connections.length).toBeGreaterThan(2)
  await stream.return()
})

test('R38 a server that accepts the connection and then refuses the token is asked three times, not for ever', async () => {
  const run = vi.fn<Transport['run']>(async (_body, next) =>
    next({ errors: [{ message: 'No.', extensions: { code: 'UNAUTHENTICATED' } }] }),
  )
  const stream = new Subscription<Item>({ run, dispose: async () => {} }, BODY, {}, never)
  await expect(stream.next()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(run).toHaveBeenCalledTimes(3)
})

test('what the caller’s own onReconnect throws ends the stream and reaches its reader', async () => {
  const broken = new RegieError([{ message: 'Broken.', extensions: { code: 'NETWORK', retryable: true } }])
  const stream = new Subscription<Item>(
    { run: () => Promise.reject(broken), dispose: async () => {} },
    BODY,
    {
      onReconnect: () => {
        throw new Error('mine')
      },
    },
    never,
  )
  await expect(stream.next()).rejects.toThrow('mine')
})
