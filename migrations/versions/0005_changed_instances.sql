ALTER TABLE run_wakeup ADD COLUMN changed BIGINT[];

ALTER TABLE dag_run ADD COLUMN evaluated_by TEXT;

CREATE INDEX task_instance_to_retry ON task_instance (dag_run_id, next_retry_at) WHERE state IN ('up_for_retry', 'up_for_reschedule');
