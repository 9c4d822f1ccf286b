import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Account } from './account.ts'

export interface Guard {
  /** The server is about to stop in the ordinary way. */
  release(): void
}

/**
 * A shell of one line that stops the server when this process is gone, however it went: the pipe it reads from
 * then closes, which a `kill -9` cannot prevent. Null on Windows, where the next start does this work.
 */
export function guard(postmaster: number, account: Account | undefined): Guard | null {
  if (process.platform === 'win32') return null
  const shell = spawn('/bin/sh', ['-c', 'read -r released || kill -INT "$0"', String(postmaster)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A session of its own: Ctrl-C in the terminal goes to a whole process group.
    detached: true,
    cwd: '/',
    ...account,
  })
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  ;(shell.stdin as Socket).unref()
  return { release: () => void shell.stdin.end('released\n') }
}
