import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Stands between client and server and can cut every connection at once, as a network does. */
export interface CuttingProxy {
  readonly port: number
  /** Cuts what is connected; returns how many connections that were. */
  readonly cut: () => number
  readonly close: () => Promise<void>
}

export async function cuttingProxy(target: URL): Promise<CuttingProxy> {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    const count = open.size / 2
    // resetAndDestroy: what was under way is lost, and no orderly end tells the peer.
    for (const socket of [...open]) socket.resetAndDestroy()
    return count
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
