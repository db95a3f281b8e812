DROP TABLE dag_run_asset_event;
DROP TABLE asset_run_queue;
DROP TABLE asset_reference;
DROP TABLE asset_alias_event;
DROP TABLE asset_event;
DROP TABLE asset_alias;
DROP TABLE asset;
DROP INDEX dag_run_of_partition;
ALTER TABLE dag_run DROP COLUMN partition_key, DROP COLUMN partition_date;
