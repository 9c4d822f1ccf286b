import { statement, type Tx } from '../../../database/index.ts'
import type { Json } from '../model/canonical.ts'

export type OperationKind =
  | 'IMPORT'
  | 'ADD_ATTRIBUTE'
  | 'UPDATE_ATTRIBUTE'
  | 'REMOVE_ATTRIBUTE'
  | 'ADD_VALUE'
  | 'UPDATE_VALUE'
  | 'REMOVE_VALUE'

/** What a user did to a draft. What that amounts to is for the net changes to say. */
export interface Operation {
  /** The content revision that it made. */
  readonly seq: number
  readonly op: OperationKind
  readonly attributeId: string | null
  readonly valueId: string | null
  readonly before: Json
  readonly after: Json
  readonly actor: string
  readonly correlationId: string
  readonly createdAt: Date
}

export async function appendOperation(
  tx: Tx,
  operation: Omit<Operation, 'createdAt'> & { readonly versionId: string },
): Promise<void> {
  await tx.query(APPEND, [JSON.stringify(operation)])
}

const APPEND = statement<unknown>(
  'organisation.operation.append',
  `insert into org_model_operation
     (tenant_id, version_id, seq, op, attribute_id, value_id, before, after, actor, correlation_id)
   select $1::uuid, "versionId", seq, op, "attributeId", "valueId", before, after, actor, "correlationId"
   from jsonb_to_record($2::jsonb) as o(
     "versionId" uuid, seq bigint, op text, "attributeId" uuid, "valueId" uuid, before jsonb, after jsonb,
     actor text, "correlationId" text)`,
)
