import { statement } from '../../database/index.ts'

/** One row of the audit, as `RECORD_ACTS` takes it. */
export interface NewAct {
  readonly id: string
  readonly actor: string
  readonly act: string
  readonly reason: string
  readonly correlationId: string
  readonly jobId?: string
  readonly type?: string
  readonly schedule?: string
  readonly batchId?: string | null
  /** As the column has it. */
  readonly tenantId?: string
  readonly partOf?: string | null
  readonly selection?: Readonly<Record<string, unknown>>
  readonly before?: Readonly<Record<string, unknown>>
  readonly after?: Readonly<Record<string, unknown>>
  /** Why it was not done, as a code; left out: it was. */
  readonly refusal?: string
}

/** $1 acts as JSON (`NewAct`). */
export const RECORD_ACTS = statement<never>(
  'jobs.record_acts',
  `insert into job_act (id, actor, act, reason, correlation_id, job_id, type, schedule, batch_id, tenant_id, part_of,
    selection, before, after, refusal)
  select id, actor, act, reason, "correlationId", "jobId", type, schedule, "batchId", "tenantId", "partOf", selection,
    before, after, refusal
  from jsonb_to_recordset($1::jsonb) as a(id uuid, actor text, act text, reason text, "correlationId" text,
    "jobId" uuid, type text, schedule text, "batchId" uuid, "tenantId" uuid, "partOf" uuid, selection jsonb,
    before jsonb, after jsonb, refusal text)`,
)
