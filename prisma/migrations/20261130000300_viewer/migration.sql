create table tenant (
  id uuid primary key,
  name varchar(200) not null unique,
  created_at timestamptz(3) not null default now()
);

create table membership (
  tenant_id uuid not null references tenant (id) on delete cascade,
  subject varchar(200) not null,
  roles text[] not null,
  first_seen_at timestamptz(3) not null default now(),
  token_issued_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  primary key (tenant_id, subject)
);

create trigger forbid_tenant_change before update of tenant_id on membership
  for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change();
