ALTER TABLE task_attempt DROP COLUMN links;
