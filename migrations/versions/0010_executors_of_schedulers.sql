ALTER TABLE process ADD COLUMN executors jsonb;
