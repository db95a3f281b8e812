DROP INDEX asset_run_queue_new;
CREATE INDEX asset_run_queue_new ON asset_run_queue (dag_id, event_id) WHERE is_new;
