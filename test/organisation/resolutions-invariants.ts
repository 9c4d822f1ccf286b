import { expect } from 'vitest'
import type { Call } from '../../src/domain/call.ts'
import { personaExtractor, rebuildReferences } from '../../src/domain/organisation/index.ts'
import { stagedEffectExtractor } from '../../src/domain/organisation/resolutions/effect-references.ts'

/** Appendix A of the specification of drafts: what holds in every tenant at every moment. Each row is a breach. */
const BREACHES: Readonly<Record<string, string>> = {
  'exactly one ACTIVE version': `select count(*) from org_model_version where tenant_id = $1 and status = 'ACTIVE' having count(*) <> 1`,
  'at most one DRAFT': `select count(*) from org_model_version where tenant_id = $1 and status = 'DRAFT' having count(*) > 1`,
  'nothing in flight on a closed draft': `select r.id from org_model_draft_resolution r
    join org_model_version v on v.tenant_id = r.tenant_id and v.id = r.draft_version_id
    where r.tenant_id = $1 and r.status in ('PENDING', 'PROCESSING') and v.status <> 'DRAFT'`,
  'what is in flight has its living job of the same submission': `select r.id from org_model_draft_resolution r
    where r.tenant_id = $1 and r.status in ('PENDING', 'PROCESSING') and not exists (
      select from job j where j.id::text = r.job_id and (j.payload->>'submissionNo')::int = r.submission_no
        and j.payload->>'resolutionId' = r.id::text)`,
  'what is PROCESSING is held by a worker': `select r.id from org_model_draft_resolution r
    where r.tenant_id = $1 and r.status = 'PROCESSING'
      and not exists (select from job j where j.id::text = r.job_id and j.worker_id is not null)`,
  'statuses and moments agree': `select id from org_model_draft_resolution where tenant_id = $1 and not case status
    when 'COMPLETED' then executed_at is not null and error is null
    when 'FAILED' then executed_at is not null and error_code is not null
    else executed_at is null and error is null end`,
  'the log tells the status': `select r.id from org_model_draft_resolution r
    cross join lateral (select e.sequence, e."to" from event e where e.tenant_id = r.tenant_id and e.subject_id = r.id
      order by e.sequence desc limit 1) e
    where r.tenant_id = $1 and (r.version, r.status) is distinct from (e.sequence, e."to")`,
  'the log has no gap': `select subject_id from event where tenant_id = $1 and subject_kind = 'org_model_draft_resolution'
    group by subject_id having count(*) <> max(sequence)`,
  'submissions never go back': `select subject_id from (
      select subject_id, (data->>'submissionNo')::int as no,
        lag((data->>'submissionNo')::int) over (partition by subject_id order by sequence) as before
      from event where tenant_id = $1 and subject_kind = 'org_model_draft_resolution') e where no < before`,
  'an attempt is never over the limit': `select id from org_model_draft_resolution where tenant_id = $1 and attempt_no > max_attempts`,
  'no effect applied but by an activation': `select e.id from org_model_staged_effect e
    join org_model_version v on v.tenant_id = e.tenant_id and v.id = e.version_id
    where e.tenant_id = $1 and e.applied_at is not null and v.status not in ('ACTIVE', 'ARCHIVED')`,
  'no effect left over after one': `select e.id from org_model_staged_effect e
    join org_model_version v on v.tenant_id = e.tenant_id and v.id = e.version_id
    where e.tenant_id = $1 and e.applied_at is null and v.status <> 'DRAFT'`,
  'effects belong to the submission that completed': `select e.id from org_model_staged_effect e
    join org_model_draft_resolution r on r.tenant_id = e.tenant_id and r.id = e.resolution_id
    where e.tenant_id = $1 and (r.status <> 'COMPLETED' or r.submission_no <> e.submission_no)`,
  'no VALID persona refers to what the active model lacks': `select p.id from persona p
    join org_model_reference f on f.tenant_id = p.tenant_id and f.source_kind = 'PERSONA' and f.source_id = p.id
    join org_model_version a on a.tenant_id = p.tenant_id and a.status = 'ACTIVE'
    where p.tenant_id = $1 and p.validity = 'VALID' and p.archived_at is null and not case when f.value_id is null
      then exists (select from org_model_attribute_state s
        where s.tenant_id = p.tenant_id and s.version_id = a.id and s.attribute_id = f.attribute_id)
      else exists (select from org_model_value_state s
        where s.tenant_id = p.tenant_id and s.version_id = a.id and s.value_id = f.value_id) end`,
  'no evaluation is ahead of the clock': `select e.id from org_model_evaluation e
    join org_model_downstream_clock c on c.tenant_id = e.tenant_id
    where e.tenant_id = $1 and (e.downstream_revision > c.revision or e.people_revision > c.people_revision)`,
}

export async function holdInvariants({ database, viewer }: Call): Promise<void> {
  const found: string[] = []
  for (const [invariant, breaches] of Object.entries(BREACHES)) {
    const { rowCount } = await database.pool.query(breaches, [viewer.tenantId])
    if (rowCount !== 0) found.push(invariant)
  }
  expect(found).toEqual([])
  // The reference index says what its sources say.
  const drift = await database.transaction(viewer.tenantId, (tx) =>
    rebuildReferences(tx, [personaExtractor, stagedEffectExtractor]),
  )
  expect(drift).toEqual([])
}
