import { readFileSync } from 'node:fs'

/** The account that PostgreSQL's processes run under; undefined means our own. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL refuses to run as root, so root's server runs as `nobody`; no account is ever created. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? { uid: 65534, gid: 65534 } : { uid: Number(uid), gid: Number(gid) }
}
