-- A row never moves to another tenant. Prisma's nested `connect` and `set` look a row up by its id alone and
-- write the tenant of the row they connect it to: with composite keys that moved another tenant's row. Each
-- table with a tenant has this trigger:
--   create trigger forbid_tenant_change before update of tenant_id on <table>
--     for each row when (old.tenant_id is distinct from new.tenant_id) execute function forbid_tenant_change();
-- `update of` and `when` keep it free of cost: the function is called for a row that breaks the rule only.
create function forbid_tenant_change() returns trigger language plpgsql as $$
begin
  raise exception 'A row of % cannot move to another tenant', tg_table_name using errcode = 'RG010';
end $$;
