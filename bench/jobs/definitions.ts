import { z } from 'zod'
import { defineJob, type JobDefinition, succeeded } from '../../src/jobs/index.ts'

type Numbered = JobDefinition<{ n: number }>

const common = {
  class: 'FOLLOW_UP',
  payload: z.object({ n: z.number() }),
  timeoutMs: 60_000,
  idempotency: 'A measurement does not mind.',
} as const

const DAY = new Date('2026-01-01T00:00:00Z')

/** Does nothing, so that what is measured is the engine. */
export const noop: Numbered = defineJob({
  ...common,
  type: 'bench.noop',
  displayName: ({ n }) => `noop ${n}`,
  run: async () => succeeded(),
})

/** Says when it began, in milliseconds since 1970 by this machine's clock. */
export const begun: Numbered = defineJob({
  ...common,
  type: 'bench.begun',
  displayName: ({ n }) => `begun ${n}`,
  run: async () => succeeded({ at: performance.timeOrigin + performance.now() }),
})

/** Writes one row of a domain, in the transaction that settles it. */
export const row: Numbered = defineJob({
  ...common,
  type: 'bench.row',
  displayName: ({ n }) => `row ${n}`,
  run: ({ n }, context) =>
    context.transaction(async (tx) => {
      await tx.prisma.membership.create({ data: member(tx.tenantId, `one ${n}`) })
      return succeeded()
    }),
})

/** Writes one row of a domain for each job, a batch in one transaction. */
export const rows: Numbered = defineJob({
  ...common,
  type: 'bench.rows',
  displayName: ({ n }) => `rows ${n}`,
  runMany: async (jobs, tx) => {
    if (!('tenantId' in tx)) throw new Error('These jobs belong to a tenant.')
    await tx.prisma.membership.createMany({ data: jobs.map(({ payload: { n } }) => member(tx.tenantId, `many ${n}`)) })
    return jobs.map(() => succeeded())
  },
})

const member = (tenantId: string, subject: string) => ({ tenantId, subject, roles: ['reader'], tokenIssuedAt: DAY })

export const jobDefinitions = [noop, begun, row, rows]
