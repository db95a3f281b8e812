ALTER TABLE task_attempt ADD COLUMN links JSONB;
