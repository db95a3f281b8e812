DROP TABLE schedule_pace;
DROP TABLE missed_slot;
ALTER TABLE dag DROP COLUMN held_since;
ALTER TABLE dag DROP COLUMN resumed_at;
