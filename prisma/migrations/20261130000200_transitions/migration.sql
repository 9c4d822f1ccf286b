-- The pairs of statuses that a lifecycle allows; `from_status` '' stands for creation. Filled from the
-- TypeScript tables (one per lifecycle) by the migration that adds the lifecycle; a test compares the two.
create table transition_pair (
  kind text not null,
  from_status text not null,
  to_status text not null,
  primary key (kind, from_status, to_status)
);

-- The second lock on the door: the one transition function (src/transitions) already keeps these rules, and
-- whatever writes past it is refused here, at the end of the transaction. Attach it per table as
--   create constraint trigger <table>_transition after insert or update on <table>
--     deferrable initially deferred for each row execute function check_transition('<kind>');
-- Deferred, because row and event are written in either order; each change of a row is checked by itself, so a
-- row may move twice in one transaction. A row trigger and not one per statement: that cannot be deferred.
create function check_transition() returns trigger language plpgsql as $$
declare
  this_kind constant text := tg_argv[0];
  status_before constant text := case tg_op when 'UPDATE' then old.status::text else '' end;
begin
  if tg_op = 'UPDATE' then
    if new.version = old.version then
      if new.status is distinct from old.status then
        raise exception '% %: status went from % to % without a new version', this_kind, new.id, old.status, new.status
          using errcode = 'RG001', hint = 'Change a status only through transition().';
      end if;
      return null;
    end if;
    if new.version <> old.version + 1 then
      raise exception '% %: version went from % to %', this_kind, new.id, old.version, new.version
        using errcode = 'RG002', hint = 'A version rises by one per transition.';
    end if;
  elsif new.version <> 1 then
    raise exception '% %: created at version %', this_kind, new.id, new.version
      using errcode = 'RG002', hint = 'A row begins at version 1.';
  end if;
  if not exists (select from transition_pair p
                 where p.kind = this_kind and p.from_status = status_before and p.to_status = new.status::text) then
    raise exception '% %: "%" to "%" is not an allowed pair', this_kind, new.id, status_before, new.status
      using errcode = 'RG003', hint = 'Add the pair to the lifecycle and its rows to a migration, or do not make it.';
  end if;
  -- Equality on epoch and xid leaves one partition; the rest is written so that only the index on
  -- (xid, subject_id) fits, since by the others this look-up reads every event of the transaction so far.
  if not exists (select from event e
                 where e.epoch = event_log_current_epoch() and e.xid = pg_current_xact_id()
                   and e.subject_id = new.id and e.sequence = new.version
                   and e.tenant_id is not distinct from new.tenant_id and e.subject_kind = this_kind
                   and coalesce(e."from", '') = status_before and e."to" = new.status::text) then
    raise exception '% %: version % has no event of this transaction', this_kind, new.id, new.version
      using errcode = 'RG004', hint = 'Change a status only through transition(), which writes the event too.';
  end if;
  return null;
end $$;
