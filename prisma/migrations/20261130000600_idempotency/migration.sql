-- One row per request that named an idempotency key, written in the very transaction that carried it out: it
-- exists exactly when the effect does, and a second request with the same key waits here for the first.
create table idempotency_key (
  tenant_id uuid not null,
  actor varchar(200) not null,
  mutation varchar(100) not null,
  key varchar(128) not null check (key <> ''),
  request_hash char(64) not null,
  -- What the transaction did, as its own events tell: [{"kind": "persona", "id": "…"}]. Ids, not the answer:
  -- a repetition is rendered from what they name, with the fields that the repetition selects.
  subjects jsonb not null default '[]',
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  primary key (tenant_id, actor, mutation, key)
);
create index idempotency_key_lapsed on idempotency_key (tenant_id, expires_at);
create trigger forbid_tenant_change before update of tenant_id on idempotency_key
  for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change();
