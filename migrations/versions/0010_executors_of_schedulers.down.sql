ALTER TABLE process DROP COLUMN executors;
