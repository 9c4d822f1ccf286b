-- What keeps a due job from running: limits, breakers and the isolation of suspects. Everything here serves types that
-- have a gate; the claim of all others never comes by.

alter table job_type add column limited boolean not null generated always as
  (max_running is not null or max_running_per_tenant is not null or rate_jobs is not null) stored;

-- What is left in a bucket that holds `jobs` tokens and gains as many in `per_ms` milliseconds.
create function job_rate_tokens(tokens float8, refilled_at timestamptz, jobs integer, per_ms integer, at timestamptz)
returns float8 language sql immutable as $$
  select least(jobs::float8, tokens + greatest(0, extract(epoch from at - refilled_at)::float8 * 1000) * jobs / per_ms)
$$;

-- Milliseconds until that bucket holds a whole token.
create function job_rate_wait_ms(tokens float8, refilled_at timestamptz, jobs integer, per_ms integer, at timestamptz)
returns float8 language sql immutable as $$
  select greatest(0, 1 - job_rate_tokens(tokens, refilled_at, jobs, per_ms, at)) * per_ms / jobs
$$;

-- How many more jobs of the type may run; null when it has no such limit. Counted, so that it cannot drift: a worker
-- that dies takes its jobs out of the count as soon as they are rescued.
create function job_type_room(kind job_type) returns integer language sql stable as $$
  select kind.max_running - count(*)::integer from job
  where kind.max_running is not null and type = kind.type and worker_id is not null and limited
$$;

-- How many more jobs of this tenant may begin; null when nothing limits them.
create function job_tenant_room(kind job_type, of_tenant uuid) returns integer language sql stable as $$
  select least(
    kind.max_running_per_tenant - case when kind.max_running_per_tenant is not null then (
      select count(*)::integer from job
      where type = kind.type and tenant_id = of_tenant and worker_id is not null and limited
    ) end,
    case when kind.rate_jobs is not null then floor(coalesce((
      -- A bucket fills in steps that a float cannot hold exactly: what is a token but for the last digits is one.
      select job_rate_tokens(tokens, refilled_at, kind.rate_jobs, kind.rate_per_ms, clock_timestamp()) + 1e-6
      from job_rate where type = kind.type and tenant_id = of_tenant
    ), kind.rate_jobs))::integer end)
$$;

-- Whether a job may try now whether a service is back; true for a breaker that is closed, or null. The one that tries has
-- its time-out and a lease for it, unless it runs no more: its worker died, or gave it back unbegun. What it found is
-- written just after its end, hence the second's grace.
create function job_breaker_lets_try(breaker job_breaker) returns boolean language sql as $$
  select case breaker.state
    when 'OPEN' then breaker.open_until <= clock_timestamp()
    when 'HALF_OPEN' then breaker.probe_until <= clock_timestamp()
      or not exists (select from job where id = breaker.probe_job_id and worker_id is not null)
        and not exists (select from job_event
          where job_id = breaker.probe_job_id and recorded_at > clock_timestamp() - interval '1 second')
    else true end
$$;

-- Claims due jobs of one type that has a gate: at most `most`, from each lane (tenant, urgency, mark) at most `share`.
-- `suspects`: one job that was running when a worker died, instead of those that were not.
--
-- The lock on the type's row makes claims of one type follow one another over all processes, and each statement below
-- sees what those before it have committed. One statement that both waits for the lock and counts would count in a
-- snapshot from before the lock, and overshoot. Nobody waits: whoever finds the row locked leaves the type to the
-- other and comes back, so that a busy type holds up no claim of another.
create function job_claim_gated(wanted text, known_version smallint, tenants uuid[], urgencies smallint[],
  marks timestamptz[], most integer, share integer, worker uuid, suspects boolean)
returns setof job language plpgsql as $$
#variable_conflict use_column
declare
  kind job_type;
  probed text;
  lane record;
  room integer := most;
  allowed integer;
  ids uuid[];
begin
  perform from job_worker where id = worker and lease_until > clock_timestamp();
  if not found then
    return;
  end if;
  select * into kind from job_type t where t.type = wanted for no key update skip locked;
  if kind.paused_at is not null or (kind.type is null and exists (select from job_type t where t.type = wanted)) then
    return;
  end if;

  if suspects then
    -- One at a time per process: a second one in another thread of it would die with the first, for nothing.
    if not pg_try_advisory_xact_lock(hashtextextended('regie: suspects', 0)) or exists (
      select from job j join job_worker w on w.id = j.worker_id
      where j.worker_id is not null and j.lost > 0 and w.process = (select process from job_worker where id = worker)
    ) then
      return;
    end if;
    room := 1;
  end if;

  -- While its service is away, the type lets one job through: when the pause is over, and again when the last such
  -- job was not heard of in time.
  perform from job_breaker b where b.type = wanted and b.dependency = kind.dependency and b.state <> 'CLOSED';
  if found then
    select dependency into probed from job_breaker b
    where b.type = wanted and b.dependency = kind.dependency and b.state <> 'CLOSED'
      and job_breaker_lets_try(b)
    for update skip locked;
    if not found then
      return;
    end if;
    room := 1;
  end if;

  room := least(room, job_type_room(kind));
  for lane in select * from unnest(tenants, urgencies, marks) as given(tenant, urgency, mark) loop
    exit when room <= 0;
    allowed := least(share, room, job_tenant_room(kind, lane.tenant));
    continue when allowed <= 0;
    ids := array(
      select id from job
      where worker_id is null and type = wanted and tenant_id = lane.tenant and urgency = lane.urgency
        and due >= lane.mark and due <= clock_timestamp() and payload_version <= known_version
        and (lost > 0) = suspects
      order by due limit allowed for update skip locked);
    return query update job set status = 'PROCESSING', attempt = attempt + 1, claim_epoch = claim_epoch + 1,
        worker_id = worker, claimed_at = clock_timestamp(), limited = coalesce(kind.limited, false)
      where id = any(ids) returning job.*;
    room := room - cardinality(ids);
    if kind.rate_jobs is not null and cardinality(ids) > 0 then
      perform job_rate_take(kind, lane.tenant, cardinality(ids));
    end if;
  end loop;

  if probed is not null and cardinality(ids) > 0 then
    perform job_breaker_probe(wanted, probed, ids[1]);
  end if;
end $$;

-- Takes tokens out of a tenant's bucket, under the lock of the type's row. The moment is cut to what the column holds:
-- rounded up, each taking would win up to half a millisecond.
create function job_rate_take(kind job_type, of_tenant uuid, taken integer) returns void language sql as $$
  insert into job_rate as bucket (type, tenant_id, tokens, refilled_at)
  values (kind.type, of_tenant, kind.rate_jobs - taken, date_trunc('milliseconds', clock_timestamp()))
  on conflict (type, tenant_id) do update
  set tokens = job_rate_tokens(bucket.tokens, bucket.refilled_at, kind.rate_jobs, kind.rate_per_ms, excluded.refilled_at)
      - taken,
    refilled_at = greatest(bucket.refilled_at, excluded.refilled_at)
$$;

-- Makes a job the one that tries whether a service is back.
create function job_breaker_probe(of_type text, of_dependency text, by_job uuid) returns void language sql as $$
  update job_breaker set state = 'HALF_OPEN', probe_job_id = by_job, changed_at = clock_timestamp(),
    probe_until = clock_timestamp() + interval '15 seconds' + interval '1 millisecond' * (
      select timeout_ms from job join job_policy on job_policy.id = job.policy_id where job.id = by_job)
  where type = of_type and dependency = of_dependency
$$;
