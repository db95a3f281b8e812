ALTER TABLE triggerer DROP COLUMN trouble_of;
DROP INDEX trigger_in_trouble;
ALTER TABLE trigger DROP COLUMN trouble;
ALTER TABLE trigger DROP COLUMN death;
ALTER TABLE trigger DROP COLUMN suspicion;
