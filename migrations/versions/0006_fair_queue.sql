-- Ready instances by pool, weight and DAG: admission goes from one DAG to the next without reading what lies between.

DROP INDEX task_instance_to_queue;

CREATE INDEX task_instance_to_queue ON task_instance (pool, priority_weight DESC, dag_id, dag_run_id, id) WHERE state = 'scheduled';

-- Whether a task of the DAG waits for the run before: its runs then start in the order of their logical dates.
ALTER TABLE dag ADD COLUMN waits_for_past BOOLEAN DEFAULT false NOT NULL;

UPDATE dag SET waits_for_past = true FROM dag_version AS version
WHERE version.id = dag.version_id AND jsonb_path_exists(
    version.document, '$.tasks[*] ? (@.depends_on_past == true || @.wait_for_downstream == true)');

-- Queued runs of backfills, in the order in which they start.
CREATE INDEX dag_run_to_fill ON dag_run (dag_id, backfill_id, logical_date) WHERE state = 'queued' AND backfill_id IS NOT NULL;
