-- The event log: append-only, ordered by (epoch, xid, id), read only below the oldest transaction in progress.

-- Raised by operators when the series of transaction ids does not go on: after a restore, or a move to another
-- server. Cursors of an earlier epoch have then expired.
create table event_log_epoch (
  only_row boolean primary key default true check (only_row),
  epoch integer not null,
  raised_at timestamptz(3) not null default now(),
  raised_by text not null,
  why text not null
);
insert into event_log_epoch (epoch, raised_by, why) values (1, 'system', 'first start');

create function event_log_current_epoch() returns integer language sql stable as $$ select epoch from event_log_epoch $$;

-- Every table that is a log of this make. Its row is also the lock under which its partitions change.
create table event_log (
  name text primary key,
  -- Transaction ids per partition. They are counted over the whole server: other databases use them up too.
  partition_width bigint not null check (partition_width >= 1000)
);

-- The partitions by range, also those that are gone: a cursor that points below one of these has expired. What
-- is dropped is decided by time, which is kept here so that nobody scans the log for it.
create table event_log_partition (
  log text not null references event_log (name),
  name text not null,
  epoch integer not null,
  lower xid8 not null,
  upper xid8 not null check (upper > lower),
  created_at timestamptz(3) not null default now(),
  -- Once nothing can be added any more: when, and the times of the oldest and youngest event (null: none).
  closed_at timestamptz(3),
  first_recorded_at timestamptz(3),
  last_recorded_at timestamptz(3),
  dropped_at timestamptz(3),
  primary key (log, name)
);
create index event_log_partition_gone on event_log_partition (log, epoch, upper) where dropped_at is not null;

create function refuse_log_change() returns trigger language plpgsql as $$
begin
  raise exception 'The log "%" is append-only: % is refused', tg_table_name, lower(tg_op) using errcode = 'RG005',
    hint = 'History goes by dropping old partitions.';
end $$;

-- Adds a partition for the range [lower, upper) of an epoch. By ATTACH, which lets readers and writers of the
-- other partitions go on; `create table … partition of` locks them all out.
create function event_log_add_partition(log text, epoch integer, lower xid8, upper xid8) returns text
language plpgsql as $$
declare
  partition constant text := format('%s_%s_%s', log, epoch, lower);
begin
  execute format('create table %I (like %I including defaults including constraints)', partition, log);
  execute format('alter table %I attach partition %I for values from (%s, %L) to (%s, %L)',
                 log, partition, epoch, lower, epoch, upper);
  insert into event_log_partition (log, name, epoch, lower, upper) values (log, partition, epoch, lower, upper);
  return partition;
end $$;

-- Where a partition ends that begins now.
create function event_log_ahead(log text) returns xid8 language sql stable as $$
  select (pg_snapshot_xmax(pg_current_snapshot())::text::numeric + l.partition_width)::text::xid8
  from event_log l where l.name = log
$$;

-- Makes a table into a log, in the migration that creates it: registered, append-only, with a partition for what
-- is written first and a default one that catches whatever has no other place.
create function event_log_begin(log text, partition_width bigint default 10000000) returns void
language plpgsql as $$
begin
  insert into event_log values (log, partition_width);
  if to_regclass(log || '_default') is null then
    execute format('create table %I partition of %I default', log || '_default', log);
  end if;
  perform event_log_add_partition(log, event_log_current_epoch(), '0', event_log_ahead(log));
  execute format('create trigger append_only before update or delete or truncate on %I
                  for each statement execute function refuse_log_change()', log);
end $$;

-- The partition of an epoch that reaches furthest.
create function event_log_newest(log text, epoch integer) returns event_log_partition language sql stable as $$
  select p from event_log_partition p where p.log = $1 and p.epoch = $2 order by p.upper desc limit 1
$$;

-- The next partition, once the running one is used up to 80 %. It begins where that one ends, which lies above
-- every transaction id given out: so none of its rows can be in the default partition, or attaching it would fail.
create function event_log_make_ahead(log text) returns text language plpgsql as $$
declare
  newest constant event_log_partition := event_log_newest(log, event_log_current_epoch());
  used constant numeric := pg_snapshot_xmax(pg_current_snapshot())::text::numeric - newest.lower::text::numeric;
begin
  if used < 0.8 * (newest.upper::text::numeric - newest.lower::text::numeric) then
    return null;
  end if;
  return event_log_add_partition(log, newest.epoch, newest.upper,
    (newest.upper::text::numeric + (select l.partition_width from event_log l where l.name = log))::text::xid8);
end $$;

-- When the running partition is over before the next one was made, rows end in the default one, where they block
-- the range they belong to. This turns the default partition itself into that range and makes a new one. Detaching
-- waits for whoever has written into it and not yet committed; the rows stay where they are.
create function event_log_move_default(log text) returns table (partition text, moved bigint) language plpgsql as $$
declare
  fallback constant text := log || '_default';
  newest event_log_partition := event_log_newest(log, event_log_current_epoch());
  epochs integer[];
  upper xid8;
  has_rows boolean;
begin
  execute format('select exists (select from %I)', fallback) into has_rows;
  if not has_rows and newest.upper > pg_snapshot_xmax(pg_current_snapshot()) then
    return;
  end if;
  execute format('alter table %I detach partition %I', log, fallback);
  execute format('select count(*), array_agg(distinct epoch), max(xid) from %I', fallback) into moved, epochs, upper;
  if cardinality(epochs) > 1 then
    raise exception 'The default partition of the log "%" holds events of the epochs %', log, epochs
      using hint = 'Move those of the earlier epochs into a partition by hand, then run the maintenance again.';
  end if;
  newest := event_log_newest(log, coalesce(epochs[1], newest.epoch));
  upper := greatest(upper, event_log_ahead(log));
  partition := format('%s_%s_%s', log, newest.epoch, newest.upper);
  execute format('alter table %I rename to %I', fallback, partition);
  execute format('alter table %I attach partition %I for values from (%s, %L) to (%s, %L)',
                 log, partition, newest.epoch, newest.upper, newest.epoch, upper);
  execute format('create table %I partition of %I default', fallback, log);
  insert into event_log_partition (log, name, epoch, lower, upper)
  values (log, partition, newest.epoch, newest.upper, upper);
  return next;
end $$;

-- Drops the oldest partition when its youngest event is past the retention; returns its name. Only ever the
-- oldest, so that what is left is one piece and a cursor either finds all that follows it or has expired. Not
-- DETACH CONCURRENTLY: that is impossible beside a default partition.
create function event_log_drop_oldest(log text, retention interval) returns text language plpgsql as $$
declare
  oldest event_log_partition;
begin
  select p.* into oldest from event_log_partition p
  where p.log = $1 and p.dropped_at is null order by p.epoch, p.lower limit 1;
  if oldest.closed_at is null or oldest.last_recorded_at >= now() - retention then
    return null;
  end if;
  execute format('alter table %I detach partition %I', log, oldest.name);
  execute format('drop table %I', oldest.name);
  update event_log_partition p set dropped_at = now() where p.log = $1 and p.name = oldest.name;
  return oldest.name;
end $$;

-- Begins a new epoch of all logs and returns it. Waits for who is writing: an event of the old epoch that is
-- committed after this would be read by nobody who begins in the new one. Who comes to write meanwhile waits for
-- this, and then writes in the new epoch, because its default is read by a snapshot that is taken after the lock.
create function event_log_raise_epoch(raised_by text, why text) returns integer language plpgsql as $$
declare
  raised integer;
  log text;
begin
  perform from event_log order by name for update;
  for log in select name from event_log order by name loop
    execute format('lock table %I in share mode', log);
  end loop;
  update event_log_epoch e
  set epoch = e.epoch + 1, raised_at = now(), raised_by = $1, why = $2 returning e.epoch into raised;
  perform event_log_add_partition(l.name, raised, '0', event_log_ahead(l.name)) from event_log l;
  return raised;
end $$;

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

create index event_feed on event (tenant_id, epoch, xid, id);
-- Serves the transition trigger: through the primary key alone its look-up is quadratic per transaction.
create index event_of_transaction on event (xid, subject_id);

select event_log_begin('event');
