CREATE INDEX dag_run_unfinished_months ON dag_run (month) WHERE state IN ('queued', 'running');

CREATE INDEX dag_run_of_version ON dag_run (version_id);

CREATE INDEX dag_version_code_of_code ON dag_version_code (hash);
