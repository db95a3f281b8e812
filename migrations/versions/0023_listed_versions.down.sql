ALTER TABLE dag_version DROP COLUMN schedule_kind, DROP COLUMN has_task_limits, DROP COLUMN is_partitioned;
