DROP TABLE schedule_pace;
DROP TABLE missed_slot;
DROP INDEX dag_held_back;
ALTER TABLE dag DROP COLUMN schedule_run_limit;
ALTER TABLE dag DROP COLUMN held_since;
ALTER TABLE dag DROP COLUMN resumed_at;
