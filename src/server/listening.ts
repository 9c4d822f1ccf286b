import type { Server } from 'node:http'
import { StartupError } from '../database/index.ts'

/** Listens. @throws StartupError when the address cannot be had */
export async function listen(server: Server, host: string, port: number, variable: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => {
        server.off('error', reject)
        resolve()
      })
    })
  } catch (error) {
    throw addressRefused(error, host, port, variable)
  }
}

function addressRefused(error: unknown, host: string, port: number, variable: string): StartupError {
  const what = `Regie cannot listen on ${host}:${port}.`
  const next = `Set ${variable} to a free port, for example ${variable}=${port + 1}; ${variable}=0 takes any.`
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new StartupError(what, 'Another process uses that port.', next, { cause: error })
    case 'EACCES':
      return new StartupError(what, 'Ports below 1024 need a right that this user does not have.', next, {
        cause: error,
      })
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartupError(
        what,
        'This machine has no such address.',
        'Set HOST to one of its own, for example HOST=127.0.0.1.',
        { cause: error },
      )
    default:
      return new StartupError(what, `The system says: ${(error as Error).message}.`, next, { cause: error })
  }
}

/** Stops listening and cuts what is still connected: whatever had a right to finish has had its time. */
export async function closing(server: Server | null): Promise<void> {
  if (server === null || !server.listening) return
  await new Promise<void>((closed) => {
    server.close(() => closed())
    server.closeAllConnections()
  })
}
