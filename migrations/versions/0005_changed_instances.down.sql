DROP INDEX task_instance_to_retry;

ALTER TABLE dag_run DROP COLUMN evaluated_by;

ALTER TABLE run_wakeup DROP COLUMN changed;
