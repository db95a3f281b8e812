-- What lists of DAGs show of the newest version's document, so that a page does not unpack fifty documents.
ALTER TABLE dag_version
    ADD COLUMN schedule_kind TEXT GENERATED ALWAYS AS (document #>> '{schedule,kind}') STORED,
    ADD COLUMN has_task_limits BOOLEAN GENERATED ALWAYS AS (
        document @? '$.tasks[*] ? (exists(@.max_active_tis_per_dag) || exists(@.max_active_tis_per_dagrun))'
    ) STORED,
    ADD COLUMN is_partitioned BOOLEAN GENERATED ALWAYS AS (
        (document -> 'schedule') ?| ARRAY['partitions', 'partition_key_format']
    ) STORED;
