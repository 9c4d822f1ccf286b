import { expect, test } from 'vitest'
import { keepWorkers } from '../../src/jobs/lease.ts'
import { PROVE_CLAIMS } from '../../src/jobs/sql/claim-proof.ts'
import { SETTLE_SUCCEEDED } from '../../src/jobs/sql/settle-succeeded.ts'
import { type EndingRow, SETTLE } from '../../src/jobs/sql/settle.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, finished, testJob, waiting } from './support.ts'

const db = useDatabase()

// An engine notices within a moment that it has lost a job and then writes nothing by itself; so only the statements
// themselves can show that the fence does not depend on that.
const WORKER = '0193a000-0000-7000-8000-0000000000bb'

/** A job under its third claim, as its present worker holds it. */
async function heldUnderEpoch3(): Promise<string> {
  const [id] = await enqueueNumbers(db, testJob('test.fenced'), [1])
  await keepWorkers(db.database, [{ id: WORKER, slot: 0 }], 60_000)
  await db.pool.query(
    `update job set status = 'PROCESSING', worker_id = $2, claim_epoch = 3, attempt = 3, claimed_at = now() where id = $1`,
    [id, WORKER],
  )
  return id!
}

const ending = (id: string, claimEpoch: number, kind: EndingRow['kind']): EndingRow => ({
  id,
  claimEpoch,
  kind,
  delayMs: null,
  failureClass: null,
  code: null,
  message: null,
  stack: null,
  reason: null,
  output: null,
  ranMs: 1,
})

/** Each way in which a worker writes about its claim; answers with the jobs that it found to be its own. */
const WRITES: Readonly<Record<string, (id: string, epoch: number) => Promise<readonly { readonly id: string }[]>>> = {
  'the plain success': (id, epoch) => db.database.run(SETTLE_SUCCEEDED, [[id], [epoch], [1]]),
  ...Object.fromEntries(
    (['SUCCEEDED', 'CANCELLED', 'FAILED', 'RETRY', 'BACK', 'LOST'] as const).map((kind) => [
      `an ending ${kind}`,
      (id: string, epoch: number) => db.database.run(SETTLE, [JSON.stringify([ending(id, epoch, kind)])]),
    ]),
  ),
  'the proof that a transaction begins with': (id, claimEpoch) =>
    db.database.run(PROVE_CLAIMS, [JSON.stringify([{ id, claimEpoch }])]),
}

test.each(Object.keys(WRITES))('J08 fact 1 %s counts under the present claim only', async (name) => {
  const id = await heldUnderEpoch3()
  for (const other of [0, 2, 4]) expect(await WRITES[name]!(id, other)).toEqual([])
  expect(await waiting(db, id)).toMatchObject({ status: 'PROCESSING', worker_id: WORKER, claim_epoch: 3 })
  expect(await finished(db, id)).toBeUndefined()
  expect((await db.pool.query('select from job_event where job_id = $1', [id])).rowCount).toBe(0)
  expect((await WRITES[name]!(id, 3)).map((row) => row.id)).toEqual([id])
})
