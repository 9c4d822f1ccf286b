import { statement, type Tx } from '../../../database/index.ts'
import { newId } from '../ids.ts'
import type { Reader } from '../reader.ts'
import { countsOf, type Evaluated } from './evaluation.ts'
import type { Issue } from './issue.ts'
import type { EvaluatorRun } from './pipeline.ts'

export type EvaluationTrigger = 'QUERY' | 'SUBMIT' | 'ACTIVATE'

/** What an evaluation depends on; with the same inputs it has the same outcome. */
export interface EvaluationInputs {
  readonly versionId: string
  readonly contentRevision: number
  readonly downstreamRevision: number
  readonly peopleRevision: number
  readonly registryHash: string
}

/** An evaluation as it is kept. */
export interface Evaluation extends EvaluationInputs {
  readonly id: string
  readonly trigger: EvaluationTrigger
  readonly evaluators: readonly EvaluatorRun[]
  readonly blockingCount: number
  readonly warningCount: number
  readonly infoCount: number
  readonly resolvedCount: number
  readonly evaluatedAt: Date
}

/** The evaluation with exactly these inputs, if there is one. */
export async function evaluationWith(reader: Reader, inputs: EvaluationInputs): Promise<Evaluation | null> {
  const { versionId, contentRevision, downstreamRevision, peopleRevision, registryHash } = inputs
  const [row] = await reader.query(FIND, [versionId, contentRevision, downstreamRevision, peopleRevision, registryHash])
  return row ?? null
}

/** The newest evaluation of a version. */
export async function newestEvaluation(reader: Reader, versionId: string): Promise<Evaluation | null> {
  const [row] = await reader.query(NEWEST, [versionId])
  return row ?? null
}

/** The issues of an evaluation, in order of their keys. */
export const issuesOf = (reader: Reader, evaluationId: string): Promise<Issue[]> => reader.query(ISSUES, [evaluationId])

/** Keeps an evaluation. Of two made of the same inputs at once, the first is kept. */
export async function keepEvaluation(
  tx: Tx,
  inputs: EvaluationInputs,
  trigger: EvaluationTrigger,
  { issues, runs }: Evaluated,
): Promise<Evaluation> {
  const evaluation = { ...inputs, ...countsOf(issues), id: newId(), trigger, evaluators: runs }
  const [kept] = await tx.query(KEEP, [JSON.stringify(evaluation), JSON.stringify(issues)])
  return kept ?? (await evaluationWith(tx, inputs))!
}

const COLUMNS = `id::text, version_id::text as "versionId", content_revision::float8 as "contentRevision",
  downstream_revision::float8 as "downstreamRevision", people_revision::float8 as "peopleRevision",
  registry_hash::text as "registryHash", trigger, evaluators, blocking_count as "blockingCount",
  warning_count as "warningCount", info_count as "infoCount", resolved_count as "resolvedCount",
  evaluated_at as "evaluatedAt"`

const FIND = statement<Evaluation>(
  'organisation.evaluation.find',
  `select ${COLUMNS} from org_model_evaluation
   where tenant_id = $1::uuid and version_id = $2::uuid and content_revision = $3::bigint
     and downstream_revision = $4::bigint and people_revision = $5::bigint and registry_hash = $6`,
)

const NEWEST = statement<Evaluation>(
  'organisation.evaluation.newest',
  `select ${COLUMNS} from org_model_evaluation
   where tenant_id = $1::uuid and version_id = $2::uuid
   order by evaluated_at desc limit 1`,
)

const ISSUES = statement<Issue>(
  'organisation.evaluation.issues',
  `select issue_key as key, issue_code as code, severity, affected_entity_kind as "entityKind",
     affected_entity_id as "entityId", affected_label as "entityLabel", fingerprint::text, basis, message, changes,
     refs as "references", affected_count as "affectedCount", available_actions as "availableActions", state,
     resolution_id::text as "resolutionId", stale_reason as "staleReason"
   from org_model_issue
   where tenant_id = $1::uuid and evaluation_id = $2::uuid
   order by issue_key`,
)

const KEEP = statement<Evaluation>(
  'organisation.evaluation.keep',
  `with kept as (
    insert into org_model_evaluation (tenant_id, id, version_id, content_revision, downstream_revision,
      people_revision, registry_hash, trigger, evaluators, blocking_count, warning_count, info_count, resolved_count)
    select $1::uuid, id, "versionId", "contentRevision", "downstreamRevision", "peopleRevision", "registryHash",
      trigger, evaluators, "blockingCount", "warningCount", "infoCount", "resolvedCount"
    from jsonb_to_record($2::jsonb) as e(id uuid, "versionId" uuid, "contentRevision" bigint,
      "downstreamRevision" bigint, "peopleRevision" bigint, "registryHash" text, trigger text, evaluators jsonb,
      "blockingCount" int, "warningCount" int, "infoCount" int, "resolvedCount" int)
    on conflict (tenant_id, version_id, content_revision, downstream_revision, people_revision, registry_hash)
      do nothing
    returning *
  ), issues as (
    insert into org_model_issue (tenant_id, evaluation_id, version_id, issue_key, issue_code, severity,
      affected_entity_kind, affected_entity_id, affected_label, fingerprint, basis, message, changes, refs,
      affected_count, available_actions, state, resolution_id, stale_reason)
    select $1::uuid, kept.id, kept.version_id, i.key, code, severity, "entityKind", "entityId",
      left("entityLabel", 400), fingerprint, basis, message, changes, "references", "affectedCount",
      "availableActions", state, "resolutionId", "staleReason"
    from kept, jsonb_to_recordset($3::jsonb) as i(key text, code text, severity text, "entityKind" text,
      "entityId" text, "entityLabel" text, fingerprint text, basis jsonb, message text, changes jsonb,
      "references" jsonb, "affectedCount" int, "availableActions" jsonb, state text, "resolutionId" uuid,
      "staleReason" text)
  )
  select ${COLUMNS} from kept`,
)
