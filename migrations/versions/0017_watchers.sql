DROP TABLE trigger_asset;
CREATE TABLE trigger_asset (
    trigger_id BIGINT NOT NULL,
    asset_id BIGINT NOT NULL,
    dag_id TEXT NOT NULL,
    watcher TEXT NOT NULL,
    CONSTRAINT trigger_asset_pkey PRIMARY KEY (trigger_id, asset_id, dag_id, watcher)
);
CREATE INDEX trigger_asset_of_dag ON trigger_asset (dag_id);
