CREATE TABLE dag_code (
    hash TEXT NOT NULL,
    source TEXT NOT NULL,
    stored_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT dag_code_pkey PRIMARY KEY (hash)
);

CREATE TABLE dag_version_code (
    version_id BIGINT NOT NULL,
    hash TEXT NOT NULL,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT dag_version_code_pkey PRIMARY KEY (version_id, hash),
    CONSTRAINT dag_version_code_version_id_fkey FOREIGN KEY(version_id) REFERENCES dag_version (id),
    CONSTRAINT dag_version_code_hash_fkey FOREIGN KEY(hash) REFERENCES dag_code (hash)
);

INSERT INTO dag_code (hash, source, stored_at)
SELECT DISTINCT ON (file_hash) file_hash, code, created_at FROM dag_version ORDER BY file_hash, id DESC;

INSERT INTO dag_version_code (version_id, hash, since) SELECT id, file_hash, created_at FROM dag_version;

ALTER TABLE dag_version DROP COLUMN code;

ALTER TABLE dag_run ADD COLUMN ending TEXT;
ALTER TABLE dag_run ADD COLUMN ending_reason TEXT;
ALTER TABLE dag_run ADD CONSTRAINT dag_run_ending_known_check CHECK (ending IN ('success', 'failed'));

ALTER TABLE backfill ADD COLUMN cancelled_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE backfill ADD COLUMN triggering_user TEXT;

ALTER TABLE task_attempt ADD COLUMN code_hash TEXT;

ALTER TABLE task_instance ADD COLUMN is_backfill BOOLEAN NOT NULL DEFAULT false;

-- Ready instances of backfills stand behind all live work.
DROP INDEX task_instance_to_queue;

CREATE INDEX task_instance_to_queue ON task_instance (pool, is_backfill, priority_weight DESC, dag_id, dag_run_id, id) WHERE state = 'scheduled';
