import { statement, type Tx } from '../../../database/index.ts'
import type { NetChangeKind } from '../model/net-change.ts'
import type { Reader } from '../reader.ts'
import type { AudienceReceipt } from './audience-receipt.ts'

/** The receipt of an activation. */
export interface Activation {
  readonly id: string
  readonly versionId: string
  readonly previousVersionId: string
  /** The evaluation that it was decided by. */
  readonly evaluationId: string
  readonly requestedBy: string
  readonly idempotencyKey: string | null
  readonly changesSummary: readonly { readonly kind: NetChangeKind; readonly label: string }[]
  readonly audienceReceipt: readonly AudienceReceipt[]
  readonly durationMs: number
  readonly activatedAt: Date
}

/** The activation that a request with this key led to. */
export async function activationByKey(reader: Reader, key: string): Promise<Activation | null> {
  const [row] = await reader.query(BY_KEY, [key])
  return row ?? null
}

export async function keepActivation(tx: Tx, activation: Omit<Activation, 'activatedAt'>): Promise<Activation> {
  const [row] = await tx.query(KEEP, [JSON.stringify(activation)])
  return row!
}

const COLUMNS = `id::text, version_id::text as "versionId", previous_version_id::text as "previousVersionId",
  evaluation_id::text as "evaluationId", requested_by as "requestedBy", idempotency_key as "idempotencyKey",
  changes_summary as "changesSummary", audience_receipt as "audienceReceipt", duration_ms as "durationMs",
  activated_at as "activatedAt"`

const BY_KEY = statement<Activation>(
  'organisation.activation.by_key',
  `select ${COLUMNS} from org_model_activation where tenant_id = $1::uuid and idempotency_key = $2`,
)

const KEEP = statement<Activation>(
  'organisation.activation.keep',
  `insert into org_model_activation (tenant_id, id, version_id, previous_version_id, evaluation_id, requested_by,
     idempotency_key, changes_summary, audience_receipt, duration_ms)
   select $1::uuid, id, "versionId", "previousVersionId", "evaluationId", "requestedBy", "idempotencyKey",
     "changesSummary", "audienceReceipt", "durationMs"
   from jsonb_to_record($2::jsonb) as a(id uuid, "versionId" uuid, "previousVersionId" uuid, "evaluationId" uuid,
     "requestedBy" text, "idempotencyKey" text, "changesSummary" jsonb, "audienceReceipt" jsonb, "durationMs" int)
   returning ${COLUMNS}`,
)
