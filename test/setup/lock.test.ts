import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'regie-lock-'))
afterAll(() => rmSync(folder, { recursive: true }))

let lock: string
let log: string
let tests = 0
beforeEach(() => {
  lock = join(folder, `${tests}.lock`)
  log = join(folder, `${tests++}.log`)
})

/** A process that writes `in` and `out` to the log under the lock, and answers with its exit code. */
async function holder(): Promise<number> {
  const program = `
    import { appendFileSync } from 'node:fs'
    import { underLock } from ${JSON.stringify(pathToFileURL(join(projectFolder(), 'scripts/lock.mjs')).href)}
    await underLock(${JSON.stringify(lock)}, async () => {
      appendFileSync(${JSON.stringify(log)}, 'in\\n')
      for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
      appendFileSync(${JSON.stringify(log)}, 'out\\n')
    })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' })
  return (await once(child, 'exit'))[0] as number
}

const oneAfterTheOther = (processes: number) => 'in\nout\n'.repeat(processes)

test('six processes make ready one after the other', async () => {
  expect(await Promise.all(Array.from({ length: 6 }, holder))).toEqual([0, 0, 0, 0, 0, 0])
  expect(readFileSync(log, 'utf8')).toBe(oneAfterTheOther(6))
})

test('a lock whose process is gone is taken over, by one process at a time', async () => {
  const gone = spawn(process.execPath, ['-e', ''])
  await once(gone, 'exit')
  writeFileSync(lock, `${hostname()} ${gone.pid} 0`)
  await Promise.all(Array.from({ length: 4 }, holder))
  expect(readFileSync(log, 'utf8')).toBe(oneAfterTheOther(4))
})

test('a lock of another machine that nobody touches any more is taken over', async () => {
  writeFileSync(lock, `another-machine ${process.pid} 0`)
  const longAgo = new Date(Date.now() - 60_000)
  utimesSync(lock, longAgo, longAgo)
  expect(await holder()).toBe(0)
})
