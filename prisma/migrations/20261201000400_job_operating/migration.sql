-- What operators count, find and act on.

-- Why an act was refused, as a code; null: it was done. What somebody tried belongs to what operators did.
alter table job_act add column refusal text check (refusal <> '');
-- The jobs of one bulk act, each once, and its one end (no job), whoever else goes on with it at the same time.
create unique index job_act_part_of on job_act (part_of, job_id) nulls not distinct where part_of is not null;
-- The order in which the audit is read, which no id gives: that of a bulk act is its caller's. The audit is kept for
-- ever, so what people look for in it has an index; of what was part of a bulk act there may be 10,000 at a stretch.
create index job_act_in_order on job_act (at, id);
create index job_act_top_level on job_act (at, id) where part_of is null;
create index job_act_of_actor on job_act (actor, at, id);
create index job_act_of_type on job_act (type, at, id) where type is not null;
create index job_act_of_tenant on job_act (tenant_id, at, id) where tenant_id is not null;
create index job_act_of_schedule on job_act (schedule, at, id) where schedule is not null;
create index job_act_of_batch on job_act (batch_id) where batch_id is not null;
-- A class of failures that hardly any has would be looked for among all that failed.
create index job_finished_of_class on job_finished (failure_class, id) where failure_class is not null;
-- Jobs that killed their workers: few, and asked for by every look at the alerts.
create index job_finished_quarantined on job_finished (type) where status = 'FAILED' and failure_class = 'LOST';

-- What ended per type and minute, for the last hour: what the alerts look at.
create table job_ended_lately (
  type text not null,
  minute timestamptz(0) not null,
  failed integer not null,
  ended integer not null,
  primary key (type, minute)
) with (fillfactor = 50);

-- By how much the counts of finished jobs differ since a snapshot of an epoch, and how many ended for the first time.
-- An operator's retry is one failed job less. Three disjoint parts, because each is one range of the log's key: what
-- was being written at that moment, what began since, and what later epochs hold. The planner cannot know that these
-- ranges are the end of the log and would read all of it.
create function job_count_since(since_epoch integer, since pg_snapshot)
returns table (tenant_id uuid, type text, status text, jobs bigint, ended bigint)
language sql stable set enable_seqscan = off as $$
  with change as (
    select e.tenant_id, e.type, e."from", e."to", count(*) as jobs
    from (
      select tenant_id, type, "from", "to" from job_event
      where epoch = since_epoch and xid = any(array(select pg_snapshot_xip(since)))
      union all
      select tenant_id, type, "from", "to" from job_event where epoch = since_epoch and xid >= pg_snapshot_xmax(since)
      union all
      select tenant_id, type, "from", "to" from job_event where epoch > since_epoch
    ) e
    group by 1, 2, 3, 4
  )
  select d.tenant_id, d.type, d.status, sum(d.jobs)::bigint, sum(d.ended)::bigint
  from (
    select tenant_id, type, "to" as status, jobs, case when "from" = 'FAILED' then 0 else jobs end as ended from change
    union all
    select tenant_id, type, "from", -jobs, 0 from change
  ) d
  where d.status in ('SUCCEEDED', 'FAILED', 'CANCELLED')
  group by 1, 2, 3
$$;

-- Adds what ended since the last time to the counts. The place is locked in a statement of its own: the next one then
-- has a snapshot that is newer than that of whoever held the lock, and the place can only go forward.
create function job_count_roll_up() returns void language plpgsql as $$
declare
  place job_count_position;
begin
  select * into place from job_count_position for update skip locked;
  if not found then
    return;
  end if;
  with change as materialized (
    select * from job_count_since(place.epoch, place.snapshot)
  ), counted as (
    insert into job_count (tenant_id, type, status, jobs)
    select c.tenant_id, c.type, c.status, c.jobs from change c where c.jobs <> 0 order by 1, 2, 3
    on conflict (tenant_id, type, status) do update set jobs = job_count.jobs + excluded.jobs
  ), lately as (
    insert into job_ended_lately (type, minute, failed, ended)
    select c.type, date_trunc('minute', clock_timestamp()),
      coalesce(sum(c.ended) filter (where c.status = 'FAILED'), 0), sum(c.ended)
    from change c group by 1 having sum(c.ended) > 0 order by 1
    on conflict (type, minute) do update
    set failed = job_ended_lately.failed + excluded.failed, ended = job_ended_lately.ended + excluded.ended
  )
  update job_count_position set epoch = event_log_current_epoch(), snapshot = pg_current_snapshot();
end $$;

-- Takes rows that retention removes out of the counts.
create function job_count_forget(forgotten jsonb) returns void language sql as $$
  insert into job_count (tenant_id, type, status, jobs)
  select tenant_id, type, status, -jobs
  from jsonb_to_recordset(forgotten) as f(tenant_id uuid, type text, status text, jobs bigint)
  order by 1, 2, 3
  on conflict (tenant_id, type, status) do update set jobs = job_count.jobs + excluded.jobs
$$;

-- As before, the oldest week alone: one that ended before `before` goes, and what failed and was never handled stays.
-- The counts go with it. What is dropped is counted before the table is locked, for a week of ten million rows is read
-- for seconds; meanwhile only acts of operators on what is over wait.
create or replace function job_finished_drop_before(before timestamptz) returns setof text language plpgsql as $$
declare
  partition text;
  forgotten jsonb;
  upper constant text := 'job_finished_' || to_char((before - interval '1 week') at time zone 'UTC', 'IYYY"w"IW');
begin
  select c.relname into partition from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'job_finished'::regclass and c.relname ~ '^job_finished_\d{4}w\d{2}$' and c.relname <= upper
  order by 1 limit 1;
  if partition is not null then
    execute format('lock table %I in share row exclusive mode', partition);
    execute format('select jsonb_agg(c) from (
      select tenant_id, type, status, count(*) as jobs from %I where status <> %L group by 1, 2, 3) c', partition, 'FAILED')
      into forgotten;
    execute format('alter table job_finished detach partition %I', partition);
    execute format('insert into job_finished select * from %I where status = %L', partition, 'FAILED');
    perform job_count_forget(coalesce(forgotten, '[]'));
    execute format('drop table %I', partition);
    return next partition;
  end if;
  with gone as (
    delete from job_finished_default where finished_at < before and status <> 'FAILED'
    returning tenant_id, type, status
  )
  select jsonb_agg(c) into forgotten from (select tenant_id, type, status, count(*) as jobs from gone group by 1, 2, 3) c;
  perform job_count_forget(coalesce(forgotten, '[]'));
end $$;

-- Summarises what the blooms of finished jobs do not cover yet: a range that has no summary is read whole by every
-- search. Autovacuum does it too, but drops requests when many come at once. The range that is still being filled stays
-- without: each job that ended in it would rewrite its summary, 1.6 kB of log for a row of 200 bytes.
create function job_finished_summarise() returns integer language plpgsql as $$
declare
  bloom record;
  made integer := 0;
begin
  for bloom in
    select c.oid::regclass as index, part.inhrelid as week from pg_inherits part
    join pg_index i on i.indrelid = part.inhrelid
    join pg_class c on c.oid = i.indexrelid
    join pg_am am on am.oid = c.relam
    where part.inhparent = 'job_finished'::regclass and am.amname = 'brin'
  loop
    made := made + brin_summarize_new_values(bloom.index);
    perform brin_desummarize_range(bloom.index,
      greatest(pg_relation_size(bloom.week) / current_setting('block_size')::integer - 1, 0) / 32 * 32);
  end loop;
  return made;
end $$;
select job_finished_summarise();
