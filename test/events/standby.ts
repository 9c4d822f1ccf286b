import { spawn, type ChildProcess } from 'node:child_process'
import { chownSync, cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { serverAccount } from '../../src/database/embedded/account.ts'
import { binaries } from '../../src/database/embedded/binaries.ts'
import { placeOf } from '../../src/database/embedded/place.ts'
import { projectFolder } from '../../src/database/project-folder.ts'
import { TEST_SETTINGS } from '../harness/server-settings.ts'
import type { TestServer } from '../harness/server.ts'

/** A hot standby that follows a test's server over streaming replication. */
export interface Standby {
  readonly url: string
  remove(): Promise<void>
}

/** Copies the stopped server's data folder and starts it as a standby of the server, which runs again then. */
export async function startStandby(primary: TestServer): Promise<Standby> {
  const account = serverAccount()
  const { postgres } = binaries(placeOf(projectFolder(), account), account)
  const folder = `${primary.server.folder}_standby`
  const data = join(folder, 'data')
  await primary.stop()
  cpSync(primary.server.folder, folder, { recursive: true })
  writeFileSync(join(data, 'standby.signal'), '')
  if (account !== undefined)
    for (const entry of ['.', ...(readdirSync(data, { recursive: true }) as string[])])
      chownSync(join(data, entry), account.uid, account.gid)
  await primary.start()

  const port = await freePort()
  const upstream = new URL(primary.url)
  const settings = {
    ...TEST_SETTINGS,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    timezone: 'UTC',
    primary_conninfo: `host=${upstream.hostname} port=${upstream.port} user=${upstream.username} password=${upstream.password}`,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(postgres, ['-D', data, '-p', String(port), ...args], { stdio: 'ignore', cwd: data, ...account })
  const url = new URL(primary.url)
  url.port = String(port)
  return {
    url: url.href,
    async remove() {
      await ended(server)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function ended(server: ChildProcess): Promise<unknown> {
  const gone = new Promise((resolve) => server.once('exit', resolve))
  server.kill('SIGQUIT')
  return gone
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
