-- Resolutions that wait or are being carried out, over all tenants: few, and looked through every minute.
create index org_model_draft_resolution_in_flight on org_model_draft_resolution (id)
  where status in ('PENDING', 'PROCESSING');
