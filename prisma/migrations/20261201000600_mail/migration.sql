-- Where people can be written to, and what was written to them. A mail's row says whom it is for (the subject of
-- their tokens) and what it is about; its text is written at each dispatch and its address looked up then, so neither
-- stands here, in a job or in an event.

-- From the token's claim, when it has one; gone with a revocation.
alter table membership add column email varchar(254);

create table mail (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  kind varchar(100) not null,
  about_id uuid not null,
  key varchar(300) not null check (key <> ''),
  recipient varchar(200) not null,
  locale varchar(35) not null,
  -- Ids, codes and numbers that the text needs and that cannot be read again.
  facts jsonb not null default '{}',
  status text not null check (status in ('PLANNED', 'SENDING', 'SENT', 'FAILED', 'CANCELLED')),
  version integer not null default 1,
  job_id uuid not null,
  correlation_id varchar(200) not null,
  -- The same for all attempts: by it a second copy can be told.
  message_id varchar(320),
  -- Codes of the answer with which the server took it over: 250 2.0.0.
  reply varchar(20),
  -- Why it failed, was cancelled, or why the last attempt failed: a stable code, and a sentence without personal data.
  code varchar(200),
  problem varchar(2000),
  planned_at timestamptz(3) not null default clock_timestamp(),
  status_at timestamptz(3) not null default clock_timestamp(),
  primary key (tenant_id, id)
);
-- J29: the same key is the same mail, whoever plans it and how often.
create unique index mail_tenant_id_kind_key_key on mail (tenant_id, kind, key);
-- Those whose time is over (`mail.retention`).
create index mail_over on mail (status_at) where status in ('SENT', 'CANCELLED');

create function mail_moments() returns trigger language plpgsql as $$
begin
  new.status_at := clock_timestamp();
  return new;
end $$;
create trigger mail_moments before update of status on mail
  for each row when (old.status is distinct from new.status) execute function mail_moments();

create trigger forbid_tenant_change before update of tenant_id on mail
  for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change();

delete from transition_pair where kind = 'mail';
insert into transition_pair (kind, from_status, to_status) values
  ('mail', '', 'PLANNED'),
  ('mail', 'PLANNED', 'SENDING'),
  ('mail', 'PLANNED', 'CANCELLED'),
  ('mail', 'PLANNED', 'FAILED'),
  ('mail', 'SENDING', 'SENT'),
  ('mail', 'SENDING', 'PLANNED'),
  ('mail', 'SENDING', 'FAILED'),
  ('mail', 'SENDING', 'CANCELLED'),
  ('mail', 'FAILED', 'PLANNED'),
  ('mail', 'FAILED', 'CANCELLED');
create constraint trigger mail_transition after insert or update on mail
  deferrable initially deferred for each row execute function check_transition('mail');
