DROP INDEX dag_run_to_fill;

DROP INDEX task_instance_to_queue;

CREATE INDEX task_instance_to_queue ON task_instance (pool, priority_weight DESC, dag_run_id, id) WHERE state = 'scheduled';

ALTER TABLE dag DROP COLUMN waits_for_past;
