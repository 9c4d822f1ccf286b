-- The job engine in full: types, policies by name and version, breakers, limits, schedules, batches, counts and the
-- audit of what operators did. The hot row grows by what a job itself decides; everything else stands beside it.

-- What a job carries further: the attempts of earlier windows (a manual retry opens a new one), the version of its
-- payload, whether its running counts against a limit, and the group it belongs to.
alter table job
  add column attempt_base smallint not null default 0,
  add column payload_version smallint not null default 1,
  -- Set by the claim of a type that has limits, so that only those jobs stand in the index that limits count by.
  add column limited boolean not null default false,
  add column batch_id uuid;
alter table job_finished
  add column attempt_base smallint not null default 0,
  add column payload_version smallint not null default 1,
  add column batch_id uuid,
  -- HANDLED: an operator dealt with it outside of the engine (K5).
  add column resolution text check (resolution in ('HANDLED'));

-- A claim's new version of a row finds room on the row's own page: the log then holds only what differs (1,590 bytes per
-- job in place of 1,725), and a claim writes to one page per job, not two.
alter table job set (fillfactor = 50);

create index job_running_limited on job (type, tenant_id) where worker_id is not null and limited;
-- Jobs that were running when a worker died: they wait for an engine that runs nothing else (docs/jobs.md, Isolation).
create index job_suspect on job (due) where worker_id is null and lost > 0;
create index job_of_batch on job (batch_id, id) where batch_id is not null;
-- With the status, so that a batch is counted without its rows: a million that ended among others in 0.2 instead of 1 s.
create index job_finished_of_batch on job_finished (batch_id, id) include (status) where batch_id is not null;
-- What operators look for. Only what did not succeed is indexed row by row; what is looked for by value is found
-- through bloom filters per range of pages, which cost the ending of a job next to nothing. A type or tenant with many
-- jobs is met soon by reading from the newest on, one with few stands in few ranges: the planner takes the cheaper way.
create index job_finished_unsuccessful on job_finished (id) where status <> 'SUCCEEDED';
create index job_finished_unsuccessful_of_type on job_finished (type, id) where status <> 'SUCCEEDED';
create index job_finished_unsuccessful_of_tenant on job_finished (tenant_id, id) where status <> 'SUCCEEDED';
create index job_finished_by_code on job_finished (code, id) where code is not null;
create index job_finished_blooms on job_finished using brin
  (correlation_id text_bloom_ops (n_distinct_per_range = 1000), tenant_id uuid_bloom_ops (n_distinct_per_range = 1000),
   type text_bloom_ops (n_distinct_per_range = 50))
  with (pages_per_range = 32, autosummarize = on);

-- A policy's rules beyond the common ones: how long in all, and what differs per class of error.
alter table job_policy
  -- From the beginning of the first attempt of the window; null: as long as there are attempts.
  add column max_elapsed_ms bigint check (max_elapsed_ms > 0),
  -- { "THROTTLED": { "maxAttempts": 5, "delaysMs": [60000] }, … }; never wider than max_attempts.
  add column rules jsonb not null default '{}';

-- Policies as people know them: a name, and a version that rises when the content changes.
create table job_policy_version (
  name text not null,
  version integer not null check (version >= 1),
  policy_id bigint not null references job_policy (id),
  declared_at timestamptz(3) not null default now(),
  primary key (name, version),
  unique (name, policy_id)
);

-- The job types that some process has declared, as the newest one did; what operators see, pause and limit.
create table job_type (
  type text primary key,
  -- Subject and sequence of the operators' events about the type.
  id uuid not null unique default gen_random_uuid(),
  version integer not null default 0,
  class text not null,
  policy_name text not null,
  policy_id bigint not null references job_policy (id),
  payload_version smallint not null,
  idempotency text,
  motivation text,
  dependency text,
  -- At once over all processes, at once per tenant, and begun per tenant in so many milliseconds.
  max_running integer check (max_running > 0),
  max_running_per_tenant integer check (max_running_per_tenant > 0),
  rate_jobs integer check (rate_jobs > 0),
  rate_per_ms integer check (rate_per_ms > 0),
  declared_at timestamptz(3) not null default now(),
  paused_at timestamptz(3),
  paused_by text,
  paused_reason text,
  -- Since when it keeps failing: raised and taken back by the engine (docs/jobs.md, Alerts).
  failing_since timestamptz(3),
  check ((rate_jobs is null) = (rate_per_ms is null)),
  check ((paused_at is null) = (paused_by is null))
);

-- The rate's tokens of a tenant and type. Written by the claim, under the lock of the type's row.
create table job_rate (
  type text not null,
  tenant_id uuid not null,
  tokens float8 not null,
  refilled_at timestamptz(3) not null,
  primary key (type, tenant_id)
) with (fillfactor = 50);

-- One circuit breaker per job type and the outside service it depends on. No row: closed, never tripped.
create table job_breaker (
  type text not null,
  dependency text not null,
  state text not null check (state in ('CLOSED', 'OPEN', 'HALF_OPEN')),
  -- Failures in a row, over all processes.
  failures integer not null default 0,
  -- How often in a row it was opened; the pause doubles with it.
  trips integer not null default 0,
  opened_at timestamptz(3),
  open_until timestamptz(3),
  -- The job that tries whether the service is back.
  probe_job_id uuid,
  probe_until timestamptz(3),
  changed_at timestamptz(3) not null default clock_timestamp(),
  primary key (type, dependency)
);

-- Which types a worker can run, and the newest version of their payload it knows: { "orgmodel.resolution": 1 }.
alter table job_worker add column types jsonb not null default '{}';

-- A group of jobs that people know by one name.
create table job_batch (
  id uuid primary key,
  tenant_id uuid not null,
  label text not null,
  correlation_id text not null,
  triggered_by text not null,
  created_at timestamptz(3) not null default now(),
  cancelled_at timestamptz(3),
  cancelled_by text,
  cancel_reason text
);
create index job_batch_of_tenant on job_batch (tenant_id, id);
create trigger forbid_tenant_change before update of tenant_id on job_batch
  for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change();

-- Schedules: an interval, or a cron expression in a time zone. `next_slot` is the truth; every process that knows the
-- schedule's job may fire it, and the row of the slot makes one of them the one.
alter table job_schedule
  alter column every_ms drop not null,
  add column cron text,
  add column time_zone text not null default 'UTC',
  -- A local time that a change of clocks skips: run after it, or not at all. One that comes twice: run once, or twice.
  add column dst_gap text not null default 'RUN_AFTER' check (dst_gap in ('RUN_AFTER', 'SKIP')),
  add column dst_overlap text not null default 'ONCE' check (dst_overlap in ('ONCE', 'TWICE')),
  add column missed text not null default 'RUN_LAST' check (missed in ('SKIP', 'RUN_LAST', 'RUN_ALL')),
  add column missed_limit integer not null default 1 check (missed_limit between 1 and 100),
  add column overlap text not null default 'SKIP' check (overlap in ('SKIP', 'ALLOW', 'CANCEL_OTHER')),
  -- The type of the job that a firing enqueues; null: done on the spot by the engine that fires it.
  add column job_type text,
  add column payload jsonb not null default '{}',
  add column next_slot timestamptz(3),
  add column paused_at timestamptz(3),
  add column paused_by text,
  add column paused_reason text,
  add check ((every_ms is null) <> (cron is null));
alter table job_slot
  alter column worker_id drop not null,
  add column job_id uuid,
  add column outcome text not null default 'FIRED' check (outcome in ('FIRED', 'OVERLAP', 'MISSED')),
  -- Who ran it by hand; null when the clock did.
  add column run_by text,
  -- Found, processed, skipped and failed, of what is done on the spot.
  add column result jsonb;

-- How many finished jobs can be found, by tenant, type and status, as of a moment of the second log; what came after
-- is counted from the log itself, so that the sum is exact.
create table job_count (
  tenant_id uuid not null,
  type text not null,
  status text not null,
  jobs bigint not null,
  primary key (tenant_id, type, status)
) with (fillfactor = 50);
-- What has been counted: the events that this snapshot saw. Not a watermark, which one long transaction anywhere on the
-- server holds back, so that all events since would have to be counted again and again.
create table job_count_position (
  only_row boolean primary key default true check (only_row),
  epoch integer not null,
  snapshot pg_snapshot not null
);
-- One statement, hence one snapshot: what ends beside this is counted from the log.
with counted as (
  insert into job_count (tenant_id, type, status, jobs)
  select tenant_id, type, status, count(*) from job_finished group by tenant_id, type, status
)
insert into job_count_position (epoch, snapshot) values (event_log_current_epoch(), pg_current_snapshot());

-- What operators did. Never changed, never deleted.
create table job_act (
  id uuid primary key,
  at timestamptz(3) not null default clock_timestamp(),
  actor text not null,
  act text not null,
  reason text not null check (reason <> ''),
  correlation_id text not null,
  -- What it was done to: exactly one, or none for a bulk act, whose selection is kept instead.
  job_id uuid,
  type text,
  schedule text,
  batch_id uuid,
  tenant_id uuid,
  -- The bulk act that this one was part of.
  part_of uuid,
  selection jsonb,
  before jsonb,
  after jsonb
);
create index job_act_of_job on job_act (job_id) where job_id is not null;
create function refuse_act_change() returns trigger language plpgsql as $$
begin
  raise exception 'The audit of operators'' acts is append-only: % is refused', lower(tg_op) using errcode = 'RG005';
end $$;
create trigger append_only before update or delete on job_act for each row execute function refuse_act_change();
create trigger no_truncate before truncate on job_act for each statement execute function refuse_act_change();
