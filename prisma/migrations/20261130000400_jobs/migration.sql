-- Jobs: what is waiting or running stands in one small hot table; what is over moves out of it in the statement
-- that ends it, so that claiming never reads history. Raw SQL only, like the log (see docs/jobs.md for the
-- shapes that were measured).

-- How often and how long a job may be tried. Rows are content-addressed and never change, so eight bytes on the
-- job are a snapshot of its policy: what a later release declares touches no job that is already waiting.
create table job_policy (
  id bigint primary key,
  class text not null,
  max_attempts smallint not null check (max_attempts >= 1),
  -- Of those attempts, how many may end with the death of their worker.
  max_lost smallint not null check (max_lost >= 0),
  delays_ms integer[] not null,
  jitter real not null check (jitter between 0 and 1),
  timeout_ms integer not null check (timeout_ms > 0),
  created_at timestamptz(3) not null default now()
);

-- One row per worker thread and start. A job's lease is its worker's: one small update per interval, however
-- many jobs the worker holds.
create table job_worker (
  id uuid primary key,
  process text not null,
  slot integer not null,
  started_at timestamptz(3) not null default clock_timestamp(),
  lease_until timestamptz(3) not null
) with (fillfactor = 50);

create table job (
  id uuid primary key,
  -- The nil UUID is the installation itself: a null would fall out of every row comparison below.
  tenant_id uuid not null,
  type text not null,
  status text not null default 'SCHEDULED' check (status in ('SCHEDULED', 'RETRY_SCHEDULED', 'PROCESSING')),
  -- The priority, negated: the whole claim order is then ascending.
  urgency smallint not null default 0,
  attempt smallint not null default 0,
  lost smallint not null default 0,
  -- Rises with every claim and stands in every later write of that claim: the only fence.
  claim_epoch integer not null default 0,
  policy_id bigint not null,
  due timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  worker_id uuid,
  claimed_at timestamptz(3),
  cancel_requested_at timestamptz(3),
  cancel_reason text,
  cancel_actor text,
  correlation_id text not null,
  triggered_by text not null,
  display_name text not null,
  idempotency_key text,
  payload jsonb not null,
  check ((status = 'PROCESSING') = (worker_id is not null))
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 50000
);

-- The claim order. The type comes first so that a type nobody here knows, or that is paused, costs nothing.
create index job_waiting on job (type, tenant_id, urgency, due) where worker_id is null;
create index job_running on job (worker_id) where worker_id is not null;

-- Outlives the job, so that a key means the same job as long as that job can be found.
create table job_key (
  tenant_id uuid not null,
  type text not null,
  key text not null,
  job_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, type, key)
);

create table job_finished (
  id uuid not null,
  tenant_id uuid not null,
  type text not null,
  status text not null check (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')),
  urgency smallint not null,
  attempt smallint not null,
  lost smallint not null,
  claim_epoch integer not null,
  policy_id bigint not null,
  created_at timestamptz(3) not null,
  finished_at timestamptz(3) not null default clock_timestamp(),
  failure_class text,
  code text,
  message text,
  reason text,
  correlation_id text not null,
  triggered_by text not null,
  display_name text not null,
  idempotency_key text,
  payload jsonb not null,
  output jsonb,
  primary key (id, finished_at)
) partition by range (finished_at);
create table job_finished_default partition of job_finished default;

-- The second log: one row per attempt that ends and per act on a job that does not run. It is the history of
-- attempts, and it is never updated.
create table job_event (
  epoch integer not null,
  xid xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  job_id uuid not null,
  tenant_id uuid not null,
  type text not null,
  attempt smallint not null,
  claim_epoch integer not null,
  "from" text not null,
  "to" text not null,
  failure_class text,
  code text,
  message text,
  -- For operators only; redacted and capped before it gets here.
  stack text,
  reason text,
  actor text not null,
  worker_id uuid,
  next_attempt_at timestamptz(3),
  started_at timestamptz(3),
  recorded_at timestamptz(3) not null default clock_timestamp(),
  correlation_id text not null,
  primary key (epoch, xid, id)
) partition by range (epoch, xid);
create table job_event_default partition of job_event default;
create index job_event_of_job on job_event (job_id);

-- What runs again and again. A firing is a row of job_slot, unique, so any number of processes fire it once.
create table job_schedule (
  name text primary key,
  every_ms integer not null check (every_ms > 0),
  created_at timestamptz(3) not null default now()
);
create table job_slot (
  schedule text not null references job_schedule (name) on delete cascade,
  slot timestamptz(3) not null,
  worker_id uuid not null,
  fired_at timestamptz(3) not null default clock_timestamp(),
  finished_at timestamptz(3),
  problem text,
  primary key (schedule, slot)
);

create trigger forbid_tenant_change before update of tenant_id on job
  for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change();
create trigger forbid_tenant_change before update of tenant_id on job_key
  for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change();
create trigger forbid_tenant_change before update of tenant_id on job_finished
  for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change();

-- A partition holds the attempts of a million transactions.
select event_log_begin('job_event', 1000000);

-- Finished jobs stand in one partition per ISO week, made a week ahead. When nobody was there to make it, after an
-- outage of weeks, jobs have ended into the default partition already, and no partition can be made over such rows:
-- they move. The default partition is locked first, so that none is added meanwhile.
create function job_finished_make_ahead() returns setof text language plpgsql as $$
declare
  week timestamptz;
  partition text;
begin
  foreach week in array array[date_trunc('week', now(), 'UTC'), date_trunc('week', now(), 'UTC') + interval '1 week'] loop
    partition := 'job_finished_' || to_char(week at time zone 'UTC', 'IYYY"w"IW');
    if to_regclass(partition) is null then
      lock table job_finished_default in access exclusive mode;
      execute format('create table %I (like job_finished including all)', partition);
      execute format('with early as (delete from job_finished_default where finished_at >= %L and finished_at < %L returning *)
        insert into %I select * from early', week, week + interval '1 week', partition);
      execute format('alter table job_finished attach partition %I for values from (%L) to (%L)',
        partition, week, week + interval '1 week');
      return next partition;
    end if;
  end loop;
end $$;
select job_finished_make_ahead();

-- Drops the weeks that ended before `before`. What failed and was never handled is kept: it moves to the default
-- partition, since a job never silently disappears.
create function job_finished_drop_before(before timestamptz) returns setof text language plpgsql as $$
declare
  partition text;
  upper constant text := 'job_finished_' || to_char((before - interval '1 week') at time zone 'UTC', 'IYYY"w"IW');
begin
  for partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'job_finished'::regclass and c.relname ~ '^job_finished_\d{4}w\d{2}$' and c.relname <= upper
    order by 1
  loop
    execute format('alter table job_finished detach partition %I', partition);
    execute format('insert into job_finished select * from %I where status = %L', partition, 'FAILED');
    execute format('drop table %I', partition);
    return next partition;
  end loop;
  delete from job_finished_default where finished_at < before and status <> 'FAILED';
end $$;
