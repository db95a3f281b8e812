DROP FUNCTION treadle_commit(uuid, bigint, date, text, text, jsonb);

DROP TABLE commit_secret;

DROP TABLE durable_failure;

ALTER TABLE task_attempt DROP COLUMN committed;
