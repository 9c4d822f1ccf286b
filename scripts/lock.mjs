import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

const PATIENCE_MS = 15_000

/**
 * One process at a time makes ready. The lock is a file that its holder touches every few seconds; it counts as
 * left behind when it was not touched for a while or its holder, on this machine, is gone.
 */
export async function underLock(lock, body) {
  const mine = `${hostname()} ${process.pid} ${performance.timeOrigin}`
  for (let waited = false; ; waited = true) {
    try {
      writeFileSync(lock, mine, { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    const holder = read(lock)
    if (holder !== null && isLeftBehind(lock, holder)) takeAway(lock, holder)
    else {
      if (!waited) process.stderr.write('Another process makes the project ready; waiting for it.\n')
      await pause(200)
    }
  }
  const heartbeat = setInterval(() => utimesSync(lock, new Date(), new Date()), PATIENCE_MS / 5)
  try {
    await body()
  } finally {
    clearInterval(heartbeat)
    rmSync(lock, { force: true })
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

function isLeftBehind(lock, holder) {
  try {
    if (Date.now() - statSync(lock).mtimeMs > PATIENCE_MS) return true
  } catch {
    return false
  }
  const [host, pid] = holder.split(' ')
  if (host !== hostname() || !Number(pid)) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/** Removes exactly the lock that was found left behind: a third process may have put a fresh one there by now. */
function takeAway(lock, holder) {
  const aside = `${lock}.${process.pid}`
  try {
    renameSync(lock, aside)
    if (read(aside) !== holder) linkSync(aside, lock)
  } catch {
    // Another process was faster.
  }
  rmSync(aside, { force: true })
}
