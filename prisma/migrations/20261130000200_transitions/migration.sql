-- The pairs of statuses that a lifecycle allows; `from_status` '' stands for creation. Filled from the
-- TypeScript tables (one per lifecycle) by the migration that adds the lifecycle; a test compares the two.
create table transition_pair (
  kind text not null,
  from_status text not null,
  to_status text not null,
  primary key (kind, from_status, to_status)
);
