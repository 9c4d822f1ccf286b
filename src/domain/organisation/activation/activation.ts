import { IdempotencyKeyReusedError } from '../../../errors/index.ts'
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

/** What an activation is asked with, for telling a repetition from another request. */
export interface KeyedRequest {
  readonly key: string | null
  readonly expectedContentRevision: number
}

/**
 * The activation that this very request led to; null when there was none, or it has no key.
 * @throws IdempotencyKeyReusedError when the key was used to activate other content
 */
export async function activationByKey(reader: Reader, request: KeyedRequest): Promise<Activation | null> {
  const { key, expectedContentRevision } = request
  const [row] = key === null ? [] : await reader.query(BY_KEY, [key])
  if (row === undefined) return null
  const { contentRevision, ...activation } = row
  if (contentRevision !== expectedContentRevision) throw new IdempotencyKeyReusedError(key!)
  return activation
}

export async function keepActivation(tx: Tx, activation: Omit<Activation, 'activatedAt'>): Promise<Activation> {
  const [row] = await tx.query(KEEP, [JSON.stringify(activation)])
  return row!
}

const COLUMNS = `id::text, version_id::text as "versionId", previous_version_id::text as "previousVersionId",
  evaluation_id::text as "evaluationId", requested_by as "requestedBy", idempotency_key as "idempotencyKey",
  changes_summary as "changesSummary", audience_receipt as "audienceReceipt", duration_ms as "durationMs",
  activated_at as "activatedAt"`

// A version that is no longer a draft keeps its content revision for good.
const BY_KEY = statement<Activation & { readonly contentRevision: number }>(
  'organisation.activation.by_key',
  `select ${COLUMNS}, (
     select content_revision::float8 from org_model_version v where v.tenant_id = a.tenant_id and v.id = a.version_id
   ) as "contentRevision"
   from org_model_activation a where tenant_id = $1::uuid and idempotency_key = $2`,
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
