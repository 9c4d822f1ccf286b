import { spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { vi } from 'vitest'
import { serverAccount } from '../../src/database/embedded/account.ts'

/** Where Debian puts it, which an ordinary user's PATH leaves out. */
const PATH = [process.env['PATH'], '/usr/sbin', '/usr/local/sbin'].join(delimiter)

/** Whether this machine has PgBouncer. */
export const hasPgBouncer = spawnSync('pgbouncer', ['--version'], { env: { PATH } }).status === 0

export interface Pooler {
  /** The database's address through the pooler. */
  readonly url: string
  stop(): Promise<void>
}

/** Puts PgBouncer, in transaction mode and with so many connections to share, before a database. */
export async function startPooler(databaseUrl: string, connections: number): Promise<Pooler> {
  const { hostname, port: serverPort, username, password } = new URL(databaseUrl)
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'regie-pooler-'))
  const file = join(folder, 'pgbouncer.ini')
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: connections,
    max_client_conn: 500,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const target = `* = host=${hostname} port=${serverPort} user=${username} password=${decodeURIComponent(password)}`
  writeFileSync(file, ['[databases]', target, '[pgbouncer]', ...lines, ''].join('\n'))
  // It refuses to run as root, as PostgreSQL does.
  const account = serverAccount()
  if (account !== undefined) for (const path of [folder, file]) chownSync(path, account.uid, account.gid)
  const child = spawn('pgbouncer', ['--quiet', file], { ...account, env: { PATH }, stdio: 'ignore' })
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await vi.waitFor(() => answers(port), { timeout: 10_000 })
  const url = new URL(databaseUrl)
  url.port = String(port)
  return {
    url: url.href,
    stop: async () => {
      child.kill('SIGKILL')
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const answers = (port: number) =>
  new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy()))
    socket.once('error', reject)
  })
