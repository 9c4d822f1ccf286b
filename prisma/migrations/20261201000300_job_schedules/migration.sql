-- When the next slot was worked out. In the future: the database's clock has gone back since, and it is worked out anew.
alter table job_schedule add column reckoned_at timestamptz(3) not null default clock_timestamp();

-- The schedules that a worker declares. One that no living worker does was taken out by a release, and is not late.
alter table job_worker add column schedules text[] not null default '{}';

-- Firings whose job may still be waiting or running: few, and asked for by every firing of a schedule that minds its
-- earlier runs. A firing that finds such a job over closes the row.
create index job_slot_open on job_slot (schedule, slot) where job_id is not null and finished_at is null;

-- Which slot a job was fired for.
create index job_slot_of_job on job_slot (job_id) where job_id is not null;
