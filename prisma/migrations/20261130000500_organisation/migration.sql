-- The organisation model: versions of a tenant's schema of people, what hangs on it, and what a draft of it
-- would do. Every key and foreign key carries the tenant, so a row can never point into another tenant.

-- ---------------------------------------------------------------- versions and their content

create table org_model_version (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  number integer not null check (number >= 1),
  status text not null check (status in ('DRAFT', 'ACTIVE', 'ARCHIVED', 'DISCARDED')),
  version integer not null default 1,
  base_version_id uuid,
  source text not null check (source in ('EDIT', 'REVERT', 'IMPORT')),
  reverts_version_id uuid,
  name varchar(200),
  note varchar(4000),
  -- One more at every write of content: what a reader saw is what `expectedContentRevision` names.
  content_revision bigint not null default 0,
  -- Of the content as it was activated or archived; null while it can still change.
  content_hash char(64),
  created_by varchar(200) not null,
  created_at timestamptz(3) not null default current_timestamp,
  activated_by varchar(200),
  activated_at timestamptz(3),
  archived_at timestamptz(3),
  discarded_by varchar(200),
  discarded_at timestamptz(3),
  discard_reason varchar(2000),
  primary key (tenant_id, id),
  foreign key (tenant_id, base_version_id) references org_model_version (tenant_id, id),
  foreign key (tenant_id, reverts_version_id) references org_model_version (tenant_id, id),
  check (status not in ('ACTIVE', 'ARCHIVED') or (activated_at is not null and content_hash is not null)),
  check (status <> 'ARCHIVED' or archived_at is not null),
  check (status <> 'DISCARDED' or discarded_at is not null),
  check (source <> 'REVERT' or reverts_version_id is not null)
);
create unique index org_model_version_tenant_id_number_key on org_model_version (tenant_id, number);
-- C36: "the draft" and "the active version" are facts, not assumptions.
create unique index org_model_version_one_active on org_model_version (tenant_id) where status = 'ACTIVE';
create unique index org_model_version_one_draft on org_model_version (tenant_id) where status = 'DRAFT';

-- Identities outlive every version; key, label and the rest are content of one version.
create table org_model_attribute (
  tenant_id uuid not null,
  id uuid not null,
  first_version_id uuid not null,
  created_at timestamptz(3) not null default current_timestamp,
  primary key (tenant_id, id),
  foreign key (tenant_id, first_version_id) references org_model_version (tenant_id, id)
);

create table org_model_value (
  tenant_id uuid not null,
  id uuid not null,
  attribute_id uuid not null,
  created_at timestamptz(3) not null default current_timestamp,
  primary key (tenant_id, id),
  foreign key (tenant_id, attribute_id) references org_model_attribute (tenant_id, id)
);
-- Lets other tables say "a value of this very attribute" with a foreign key.
create unique index org_model_value_tenant_id_attribute_id_id_key on org_model_value (tenant_id, attribute_id, id);

create table org_model_attribute_state (
  tenant_id uuid not null,
  version_id uuid not null,
  attribute_id uuid not null,
  key varchar(64) not null check (key ~ '^[a-z][a-z0-9_]*$'),
  label varchar(200) not null check (label <> ''),
  description varchar(2000),
  data_type text not null
    check (data_type in ('TEXT', 'NUMBER', 'BOOLEAN', 'DATE', 'SINGLE_SELECT', 'MULTI_SELECT', 'HIERARCHY')),
  required boolean not null default false,
  default_value_id uuid,
  -- The attribute of the base that this one takes the place of: a rename with a new identity.
  replaces_attribute_id uuid,
  source text not null default 'MANUAL' check (source in ('MANUAL', 'HRIS', 'SCIM', 'DERIVED')),
  sensitive boolean not null default false,
  deprecated_at timestamptz(3),
  sort_order integer not null,
  primary key (tenant_id, version_id, attribute_id),
  foreign key (tenant_id, version_id) references org_model_version (tenant_id, id),
  foreign key (tenant_id, attribute_id) references org_model_attribute (tenant_id, id),
  foreign key (tenant_id, replaces_attribute_id) references org_model_attribute (tenant_id, id),
  constraint org_model_attribute_state_default_value_fkey foreign key (tenant_id, attribute_id, default_value_id)
    references org_model_value (tenant_id, attribute_id, id)
);
create unique index org_model_attribute_state_tenant_id_version_id_key_key
  on org_model_attribute_state (tenant_id, version_id, key);

create table org_model_value_state (
  tenant_id uuid not null,
  version_id uuid not null,
  value_id uuid not null,
  attribute_id uuid not null,
  key varchar(200) not null check (key <> '' and key = btrim(key)),
  label varchar(200) not null check (label <> ''),
  -- The parent's identity. That it stands in this version, without a cycle, is for the draft's evaluation to
  -- say: two edits that swap parent and child must be able to pass through a moment that is wrong.
  parent_value_id uuid,
  deprecated_at timestamptz(3),
  sort_order integer not null,
  primary key (tenant_id, version_id, value_id),
  foreign key (tenant_id, version_id, attribute_id)
    references org_model_attribute_state (tenant_id, version_id, attribute_id),
  foreign key (tenant_id, attribute_id, value_id) references org_model_value (tenant_id, attribute_id, id),
  foreign key (tenant_id, attribute_id, parent_value_id) references org_model_value (tenant_id, attribute_id, id)
);
create unique index org_model_value_state_tenant_id_version_id_attribute_id_key_key
  on org_model_value_state (tenant_id, version_id, attribute_id, key);

-- What users did, in order: `seq` is the content revision that the edit made.
create table org_model_operation (
  tenant_id uuid not null,
  version_id uuid not null,
  seq bigint not null check (seq >= 1),
  op text not null check (op in ('IMPORT', 'ADD_ATTRIBUTE', 'UPDATE_ATTRIBUTE', 'REMOVE_ATTRIBUTE',
                                 'ADD_VALUE', 'UPDATE_VALUE', 'REMOVE_VALUE')),
  attribute_id uuid,
  value_id uuid,
  before jsonb,
  after jsonb,
  actor varchar(200) not null,
  correlation_id varchar(200) not null,
  created_at timestamptz(3) not null default current_timestamp,
  primary key (tenant_id, version_id, seq),
  foreign key (tenant_id, version_id) references org_model_version (tenant_id, id)
);

-- ---------------------------------------------------------------- what a version holds never changes afterwards

-- Locks the version as it looks: a foreign key does not wait for an activation that has not committed (V5),
-- FOR SHARE does, and then sees the status that the activation left.
create function org_model_content_is_of_a_draft() returns trigger language plpgsql as $$
declare
  row_tenant constant uuid := case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
  row_version constant uuid := case tg_op when 'DELETE' then old.version_id else new.version_id end;
  status_now text;
begin
  if tg_op = 'UPDATE' and old.version_id <> new.version_id then
    raise exception 'content of version % cannot move to version %', old.version_id, new.version_id
      using errcode = 'RG020', hint = 'Write a row of the other version instead.';
  end if;
  select v.status into status_now from org_model_version v
    where v.tenant_id = row_tenant and v.id = row_version for share;
  if status_now is distinct from 'DRAFT' then
    raise exception 'version % is %: its content cannot change', row_version, coalesce(status_now, 'gone')
      using errcode = 'RG020', hint = 'Open a draft and edit that.';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger org_model_attribute_state_of_a_draft before insert or update or delete on org_model_attribute_state
  for each row execute function org_model_content_is_of_a_draft();
create trigger org_model_value_state_of_a_draft before insert or update or delete on org_model_value_state
  for each row execute function org_model_content_is_of_a_draft();

create function org_model_version_is_settled() returns trigger language plpgsql as $$
begin
  raise exception 'version % is %: what it is and where it came from cannot change', old.id, old.status
    using errcode = 'RG020', hint = 'Open a draft and edit that.';
end $$;
create trigger org_model_version_settled before update on org_model_version for each row
  when (old.status <> 'DRAFT' and (old.number, old.base_version_id, old.source, old.reverts_version_id, old.name, old.note,
          old.content_revision, old.content_hash, old.created_by, old.created_at, old.activated_by, old.activated_at)
        is distinct from (new.number, new.base_version_id, new.source, new.reverts_version_id, new.name, new.note,
          new.content_revision, new.content_hash, new.created_by, new.created_at, new.activated_by, new.activated_at))
  execute function org_model_version_is_settled();
create trigger org_model_version_kept before delete on org_model_version
  for each row execute function org_model_version_is_settled();

create function org_model_operation_is_kept() returns trigger language plpgsql as $$
begin
  raise exception 'the operation log only grows' using errcode = 'RG021';
end $$;
create trigger org_model_operation_kept before update or delete on org_model_operation
  for each row execute function org_model_operation_is_kept();

-- ---------------------------------------------------------------- what hangs on the model

-- One row per tenant. `revision` rises in every transaction that writes a reference or something that refers
-- to the model, `people_revision` in every one that writes people: together they say whether an evaluation is old.
create table org_model_downstream_clock (
  tenant_id uuid not null references tenant (id),
  revision bigint not null default 0,
  people_revision bigint not null default 0,
  primary key (tenant_id)
);

-- Where an attribute or a value is used. Written in the transaction of its source.
create table org_model_reference (
  tenant_id uuid not null references tenant (id),
  source_kind text not null check (source_kind ~ '^[A-Z][A-Z_]*$'),
  source_id uuid not null,
  -- JSON pointer to the very operand.
  source_path varchar(1000) not null,
  source_label varchar(200) not null,
  source_state text not null check (source_state in ('ACTIVE', 'INACTIVE', 'DRAFT')),
  role text not null
    check (role in ('CONDITION', 'GROUP_BY', 'PLACEHOLDER', 'MAPPING', 'REQUIREMENT', 'POLICY', 'PAYLOAD')),
  by text not null check (by in ('ID', 'KEY')),
  attribute_id uuid,
  value_id uuid,
  key_text varchar(200),
  negated boolean not null default false,
  primary key (tenant_id, source_kind, source_id, source_path),
  -- No foreign key to the identities: a reference to something that never was is a finding to report.
  check (case by when 'ID' then attribute_id is not null and key_text is null else key_text is not null end)
);
create index org_model_reference_tenant_id_attribute_id_idx on org_model_reference (tenant_id, attribute_id);
create index org_model_reference_tenant_id_value_id_idx on org_model_reference (tenant_id, value_id);
create index org_model_reference_tenant_id_key_text_idx on org_model_reference (tenant_id, key_text);

create table person (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  -- The key by which the outside world knows the person. Regie stores no name and no address.
  external_id varchar(200) not null check (external_id <> '' and external_id = btrim(external_id)),
  created_at timestamptz(3) not null default current_timestamp,
  updated_at timestamptz(3) not null default current_timestamp,
  primary key (tenant_id, id)
);
create unique index person_tenant_id_external_id_key on person (tenant_id, external_id);

create table person_attribute_value (
  tenant_id uuid not null,
  person_id uuid not null,
  attribute_id uuid not null,
  -- 0 but for an attribute of several values: then 0, 1, 2 … in the order given.
  item smallint not null default 0 check (item >= 0),
  value_id uuid,
  text varchar(4000),
  number numeric,
  date date,
  bool boolean,
  primary key (tenant_id, person_id, attribute_id, item),
  foreign key (tenant_id, person_id) references person (tenant_id, id) on delete cascade,
  foreign key (tenant_id, attribute_id) references org_model_attribute (tenant_id, id),
  foreign key (tenant_id, attribute_id, value_id) references org_model_value (tenant_id, attribute_id, id),
  check (num_nonnulls(value_id, text, number, date, bool) = 1)
);
-- Audiences read by value, then by attribute; the person stands in the index so that the table is not visited.
create unique index person_attribute_value_of_value
  on person_attribute_value (tenant_id, attribute_id, value_id, person_id) where value_id is not null;
create index person_attribute_value_of_number
  on person_attribute_value (tenant_id, attribute_id, number, person_id) where number is not null;
create index person_attribute_value_of_attribute
  on person_attribute_value (tenant_id, attribute_id, person_id);

-- What people held of a thing that left the model, kept for as long as the resolution said.
create table person_attribute_value_archive (
  tenant_id uuid not null,
  person_id uuid not null,
  attribute_id uuid not null,
  item smallint not null,
  value_id uuid,
  text varchar(4000),
  number numeric,
  date date,
  bool boolean,
  version_id uuid not null,
  archived_at timestamptz(3) not null default current_timestamp,
  delete_after timestamptz(3) not null,
  primary key (tenant_id, version_id, person_id, attribute_id, item),
  foreign key (tenant_id, person_id) references person (tenant_id, id) on delete cascade,
  foreign key (tenant_id, version_id) references org_model_version (tenant_id, id)
);

create table persona (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  name varchar(200) not null check (name <> ''),
  description varchar(2000),
  kind text not null default 'DYNAMIC' check (kind in ('DYNAMIC', 'STATIC')),
  filter jsonb not null,
  revision integer not null default 1 check (revision >= 1),
  validity text not null check (validity in ('VALID', 'INVALID')),
  invalid_reason varchar(2000),
  archived_at timestamptz(3),
  created_at timestamptz(3) not null default current_timestamp,
  updated_at timestamptz(3) not null default current_timestamp,
  primary key (tenant_id, id),
  check ((validity = 'INVALID') = (invalid_reason is not null))
);
create index persona_tenant_id_name_id_idx on persona (tenant_id, name, id);

-- Who belongs to a persona that no longer follows its filter.
create table persona_member (
  tenant_id uuid not null,
  persona_id uuid not null,
  person_id uuid not null,
  primary key (tenant_id, persona_id, person_id),
  foreign key (tenant_id, persona_id) references persona (tenant_id, id) on delete cascade,
  foreign key (tenant_id, person_id) references person (tenant_id, id) on delete cascade
);

-- ---------------------------------------------------------------- impact, resolutions, activation

create table org_model_evaluation (
  tenant_id uuid not null,
  id uuid not null,
  version_id uuid not null,
  content_revision bigint not null,
  downstream_revision bigint not null,
  people_revision bigint not null,
  registry_hash char(64) not null,
  trigger text not null check (trigger in ('EDIT', 'QUERY', 'SUBMIT', 'ACTIVATE', 'SCHEDULE')),
  -- [{ code, version, outcome, ms, issues }]
  evaluators jsonb not null,
  blocking_count integer not null,
  warning_count integer not null,
  info_count integer not null,
  resolved_count integer not null,
  evaluated_at timestamptz(6) not null default clock_timestamp(),
  primary key (tenant_id, id),
  foreign key (tenant_id, version_id) references org_model_version (tenant_id, id)
);
create index org_model_evaluation_tenant_id_version_id_evaluated_at_idx
  on org_model_evaluation (tenant_id, version_id, evaluated_at desc);
-- Same inputs, same issues: an evaluation is kept once.
create unique index org_model_evaluation_inputs on org_model_evaluation
  (tenant_id, version_id, content_revision, downstream_revision, people_revision, registry_hash);

-- `state` is what the evaluation could know: whatever makes a resolution count, or count no longer, moves the
-- downstream clock. Whether one is on its way or has failed is joined when read, so an old row cannot lie about it.
create table org_model_issue (
  tenant_id uuid not null,
  evaluation_id uuid not null,
  version_id uuid not null,
  issue_key varchar(401) not null,
  issue_code varchar(200) not null check (issue_code ~ '^[a-z0-9_]+(\.[a-z0-9_]+)+$'),
  severity text not null check (severity in ('BLOCKING', 'WARNING', 'INFO')),
  affected_entity_kind text,
  affected_entity_id varchar(200) check (affected_entity_id <> ''),
  affected_label varchar(400),
  fingerprint char(64) not null,
  -- What the fingerprint was made of.
  basis jsonb not null,
  message text not null,
  changes jsonb not null,
  refs jsonb not null,
  affected_count integer,
  available_actions jsonb not null,
  state text not null check (state in ('OPEN', 'RESOLVED', 'STALE', 'INEFFECTIVE')),
  resolution_id uuid,
  stale_reason text check (stale_reason in ('CHANGES', 'REFERENCES', 'EVALUATOR')),
  primary key (tenant_id, evaluation_id, issue_key),
  foreign key (tenant_id, evaluation_id) references org_model_evaluation (tenant_id, id) on delete cascade,
  check (issue_key = issue_code || ':' || coalesce(affected_entity_id, ''))
);

create table org_model_draft_resolution (
  tenant_id uuid not null,
  id uuid not null,
  draft_version_id uuid not null,
  -- code and entity as one text, so that NULL equals NULL (C03, C06, C07).
  issue_key varchar(401) not null,
  issue_code varchar(200) not null check (issue_code ~ '^[a-z0-9_]+(\.[a-z0-9_]+)+$'),
  affected_entity_id varchar(200) check (affected_entity_id <> ''),
  issue_fingerprint char(64) not null,
  -- What the fingerprint was made of, so that a stale resolution can say what has changed.
  issue_basis jsonb not null,
  affected_label varchar(400),
  content_revision bigint not null,
  chosen_action_type varchar(200) not null,
  action_payload text check (octet_length(action_payload) <= 65536),
  payload_hash char(64) not null,
  effect text not null check (effect in ('IMMEDIATE', 'STAGED', 'ACKNOWLEDGE')),
  status text not null default 'PENDING' check (status in ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED')),
  version integer not null default 1,
  submission_no integer not null default 1 check (submission_no >= 1),
  job_id varchar(200),
  attempt_no integer not null default 0,
  max_attempts integer not null,
  next_attempt_at timestamptz(6),
  last_attempt_error varchar(2000),
  last_attempt_code varchar(200),
  scheduled_at timestamptz(6) not null default current_timestamp,
  processing_started_at timestamptz(6),
  executed_at timestamptz(6),
  error varchar(2000),
  error_code varchar(200),
  submitted_by varchar(200) not null,
  correlation_id varchar(200) not null,
  idempotency_key varchar(200),
  created_at timestamptz(6) not null default current_timestamp,
  updated_at timestamptz(6) not null default current_timestamp,
  primary key (tenant_id, id),
  foreign key (tenant_id, draft_version_id) references org_model_version (tenant_id, id),
  check (issue_key = issue_code || ':' || coalesce(affected_entity_id, '')),
  check (status <> 'COMPLETED' or (executed_at is not null and error is null)),
  check (status <> 'FAILED' or (executed_at is not null and error_code is not null)),
  check (status not in ('PENDING', 'PROCESSING') or (executed_at is null and error is null))
);
create unique index org_model_draft_resolution_issue_key
  on org_model_draft_resolution (tenant_id, draft_version_id, issue_key);
create index org_model_draft_resolution_status
  on org_model_draft_resolution (tenant_id, draft_version_id, status);

-- The seed's four statuses say nothing about which submission they belong to; this does. The moments are the
-- database's, whatever a worker believes the time to be (C51).
create function org_model_draft_resolution_keeps_order() returns trigger language plpgsql as $$
begin
  if new.submission_no not in (old.submission_no, old.submission_no + 1) then
    raise exception 'submission % of resolution % cannot follow submission %', new.submission_no, old.id, old.submission_no
      using errcode = 'RG022';
  end if;
  if new.version <> old.version and new.status = 'PENDING' and old.status <> 'PROCESSING'
     and new.submission_no = old.submission_no then
    raise exception 'resolution % is %: only a new submission makes it PENDING again', old.id, old.status
      using errcode = 'RG022';
  end if;
  new.updated_at := clock_timestamp();
  if new.version <> old.version then
    new.executed_at := case when new.status in ('COMPLETED', 'FAILED') then clock_timestamp() end;
    if new.status = 'PROCESSING' then new.processing_started_at := clock_timestamp(); end if;
    if new.status = 'PENDING' and new.submission_no > old.submission_no then
      new.scheduled_at := clock_timestamp();
      new.processing_started_at := null;
    end if;
  end if;
  return new;
end $$;
create trigger org_model_draft_resolution_order before update on org_model_draft_resolution
  for each row execute function org_model_draft_resolution_keeps_order();

-- A request that was answered: the same key and body get the same answer and make no new job.
create table org_model_submission (
  tenant_id uuid not null,
  idempotency_key varchar(200) not null check (idempotency_key <> ''),
  request_hash char(64) not null,
  draft_version_id uuid not null,
  answer jsonb not null,
  submitted_at timestamptz(6) not null default current_timestamp,
  primary key (tenant_id, idempotency_key),
  foreign key (tenant_id, draft_version_id) references org_model_version (tenant_id, id)
);

create table org_model_activation (
  tenant_id uuid not null,
  id uuid not null,
  version_id uuid not null,
  previous_version_id uuid not null,
  evaluation_id uuid,
  kind text not null default 'ACTIVATE' check (kind in ('ACTIVATE', 'ROLLBACK')),
  requested_by varchar(200) not null,
  idempotency_key varchar(200),
  changes_summary jsonb not null,
  audience_receipt jsonb not null,
  duration_ms integer not null,
  activated_at timestamptz(6) not null default clock_timestamp(),
  primary key (tenant_id, id),
  foreign key (tenant_id, version_id) references org_model_version (tenant_id, id),
  foreign key (tenant_id, previous_version_id) references org_model_version (tenant_id, id),
  foreign key (tenant_id, evaluation_id) references org_model_evaluation (tenant_id, id)
);
create unique index org_model_activation_tenant_id_idempotency_key_key
  on org_model_activation (tenant_id, idempotency_key);
create index org_model_activation_tenant_id_version_id_idx on org_model_activation (tenant_id, version_id);

create table org_model_staged_effect (
  tenant_id uuid not null,
  id uuid not null,
  version_id uuid not null,
  resolution_id uuid not null,
  submission_no integer not null,
  target_kind text not null,
  target_id uuid not null,
  seq integer not null,
  precondition jsonb not null,
  forward jsonb not null,
  inverse jsonb not null,
  summary varchar(400) not null,
  applied_at timestamptz(6),
  activation_id uuid,
  created_at timestamptz(6) not null default current_timestamp,
  primary key (tenant_id, id),
  foreign key (tenant_id, version_id) references org_model_version (tenant_id, id),
  foreign key (tenant_id, resolution_id) references org_model_draft_resolution (tenant_id, id),
  foreign key (tenant_id, activation_id) references org_model_activation (tenant_id, id),
  check ((applied_at is null) = (activation_id is null))
);
create unique index org_model_staged_effect_target
  on org_model_staged_effect (tenant_id, version_id, target_kind, target_id, seq);
create index org_model_staged_effect_tenant_id_resolution_id_idx
  on org_model_staged_effect (tenant_id, resolution_id);

-- ---------------------------------------------------------------- lifecycles

delete from transition_pair where kind = 'org_model_version';
insert into transition_pair (kind, from_status, to_status) values
  ('org_model_version', '', 'ACTIVE'),
  ('org_model_version', '', 'DRAFT'),
  ('org_model_version', 'DRAFT', 'DRAFT'),
  ('org_model_version', 'DRAFT', 'ACTIVE'),
  ('org_model_version', 'DRAFT', 'DISCARDED'),
  ('org_model_version', 'ACTIVE', 'ARCHIVED');
create constraint trigger org_model_version_transition after insert or update on org_model_version
  deferrable initially deferred for each row execute function check_transition('org_model_version');

delete from transition_pair where kind = 'org_model_draft_resolution';
insert into transition_pair (kind, from_status, to_status) values
  ('org_model_draft_resolution', '', 'PENDING'),
  ('org_model_draft_resolution', 'PENDING', 'PROCESSING'),
  ('org_model_draft_resolution', 'PENDING', 'FAILED'),
  ('org_model_draft_resolution', 'PENDING', 'PENDING'),
  ('org_model_draft_resolution', 'PROCESSING', 'COMPLETED'),
  ('org_model_draft_resolution', 'PROCESSING', 'PENDING'),
  ('org_model_draft_resolution', 'PROCESSING', 'FAILED'),
  ('org_model_draft_resolution', 'COMPLETED', 'PENDING'),
  ('org_model_draft_resolution', 'FAILED', 'PENDING');
create constraint trigger org_model_draft_resolution_transition after insert or update on org_model_draft_resolution
  deferrable initially deferred for each row execute function check_transition('org_model_draft_resolution');

-- ---------------------------------------------------------------- a row never changes its tenant

do $$
declare
  its_table text;
begin
  for its_table in
    select c.table_name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = current_schema() and c.column_name = 'tenant_id' and t.table_type = 'BASE TABLE'
      and (c.table_name like 'org\_model\_%' or c.table_name like 'person%')
  loop
    execute format(
      'create trigger forbid_tenant_change before update of tenant_id on %I
         for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change()',
      its_table);
  end loop;
end $$;
