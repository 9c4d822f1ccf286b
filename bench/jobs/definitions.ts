import { z } from 'zod'
import { defineJob, type JobDefinition, succeeded } from '../../src/jobs/index.ts'

/** Does nothing, so that what is measured is the engine. */
export const noop: JobDefinition<{ n: number }> = defineJob({
  type: 'bench.noop',
  class: 'FOLLOW_UP',
  payload: z.object({ n: z.number() }),
  timeoutMs: 60_000,
  idempotency: 'It does nothing.',
  displayName: ({ n }) => `noop ${n}`,
  run: async () => succeeded(),
})

export const jobDefinitions = [noop]
