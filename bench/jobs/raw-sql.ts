import pg from 'pg'

const BATCH = 500
const CONNECTIONS = 2

const TABLES = `
drop schema if exists raw cascade;
create schema raw;
create table raw.task (
  id uuid primary key default gen_random_uuid(), tenant integer not null, body jsonb not null,
  state text not null default 'WAITING', due timestamptz not null default now(), attempt integer not null default 0,
  epoch integer not null default 0, held_until timestamptz, ended_at timestamptz
) with (fillfactor = 70);
create index on raw.task (due) where state = 'WAITING';
create table raw.entry (
  xid xid8 not null default pg_current_xact_id(), id bigint generated always as identity, task uuid, sequence integer,
  "from" text, "to" text, at timestamptz default now()
);
create index on raw.entry (xid, id);`

const TAKE = `
with due as (
  select id from raw.task where state = 'WAITING' and due <= now() order by due limit $1 for update skip locked
), taken as (
  update raw.task t set state = 'RUNNING', attempt = attempt + 1, epoch = epoch + 1, held_until = now() + interval '60 s'
  from due where t.id = due.id returning t.id, t.body, t.epoch
), noted as (
  insert into raw.entry (task, sequence, "from", "to") select id, epoch * 2 - 1, 'WAITING', 'RUNNING' from taken
)
select * from taken`

const END = `
with ended as (
  update raw.task t set state = 'DONE', ended_at = now(), held_until = null
  from unnest($1::uuid[], $2::integer[]) as e(id, epoch)
  where t.id = e.id and t.epoch = e.epoch and t.state = 'RUNNING' returning t.id, t.epoch
), noted as (
  insert into raw.entry (task, sequence, "from", "to") select id, epoch * 2, 'RUNNING', 'DONE' from ended
)
select count(*) from ended`

/**
 * The upper bound: two statements per batch and nothing else. One table, no threads, no handlers, no fairness, no
 * policy, no attempt history that names anything; two event rows per job. Answers with jobs per second.
 */
export async function rawSql(url: string, jobs: number): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  try {
    await pool.query(TABLES)
    await pool.query(
      `insert into raw.task (tenant, body) select n % 20, jsonb_build_object('n', n) from generate_series(1, $1) n`,
      [jobs],
    )
    await pool.query('analyze raw.task')
    const started = performance.now()
    await Promise.all(Array.from({ length: CONNECTIONS }, () => drain(pool)))
    const perSecond = (jobs * 1000) / (performance.now() - started)
    await pool.query('drop schema raw cascade')
    return perSecond
  } finally {
    await pool.end()
  }
}

async function drain(pool: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ id: string; epoch: number }>({ name: 'take', text: TAKE, values: [BATCH] })
    if (rows.length === 0) return
    await pool.query({ name: 'end', text: END, values: [rows.map((row) => row.id), rows.map((row) => row.epoch)] })
  }
}
