-- Firings whose job may still be waiting or running: few, and asked for by every firing of a schedule that minds its
-- earlier runs. A firing that finds such a job over closes the row.
create index job_slot_open on job_slot (schedule, slot) where job_id is not null and finished_at is null;

-- Which slot a job was fired for.
create index job_slot_of_job on job_slot (job_id) where job_id is not null;
