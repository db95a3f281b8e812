DROP TABLE trigger_asset;
CREATE TABLE trigger_asset (
    trigger_id BIGINT NOT NULL,
    asset_id BIGINT NOT NULL,
    watcher TEXT NOT NULL,
    CONSTRAINT trigger_asset_pkey PRIMARY KEY (trigger_id, asset_id)
);
CREATE INDEX trigger_asset_of_asset ON trigger_asset (asset_id);
