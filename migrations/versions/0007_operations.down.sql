DROP INDEX task_instance_to_queue;

CREATE INDEX task_instance_to_queue ON task_instance (pool, priority_weight DESC, dag_id, dag_run_id, id) WHERE state = 'scheduled';

ALTER TABLE task_instance DROP COLUMN is_backfill;

ALTER TABLE task_attempt DROP COLUMN code_hash;

ALTER TABLE backfill DROP COLUMN triggering_user;
ALTER TABLE backfill DROP COLUMN cancelled_at;

ALTER TABLE dag_run DROP COLUMN ending_reason;
ALTER TABLE dag_run DROP COLUMN ending;

ALTER TABLE dag_version ADD COLUMN code TEXT NOT NULL DEFAULT '';
UPDATE dag_version SET code = dag_code.source FROM dag_code WHERE dag_code.hash = dag_version.file_hash;
ALTER TABLE dag_version ALTER COLUMN code DROP DEFAULT;

DROP TABLE dag_version_code;
DROP TABLE dag_code;
