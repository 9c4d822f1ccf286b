-- The event log: append-only, ordered by (epoch, xid, id), read only below the oldest transaction in progress.
create table event_log_epoch (
  only_row boolean primary key default true check (only_row),
  epoch integer not null,
  raised_at timestamptz(3) not null default now(),
  raised_by text not null,
  why text not null
);
insert into event_log_epoch (epoch, raised_by, why) values (1, 'system', 'first start');

create function event_log_current_epoch() returns integer language sql stable as $$ select epoch from event_log_epoch $$;

create table event (
  epoch integer not null default event_log_current_epoch(),
  xid xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  tenant_id uuid not null,
  subject_kind text not null,
  subject_id uuid not null,
  sequence integer not null check (sequence >= 1),
  type text not null,
  "from" text,
  "to" text,
  reason text,
  data jsonb not null default '{}',
  actor text not null,
  correlation_id text not null,
  recorded_at timestamptz(3) not null default clock_timestamp(),
  primary key (epoch, xid, id)
) partition by range (epoch, xid);

create table event_default partition of event default;
create index event_feed on event (tenant_id, epoch, xid, id);
-- Serves the transition trigger: through the primary key alone its look-up is quadratic per transaction.
create index event_of_transaction on event (xid, subject_id);
