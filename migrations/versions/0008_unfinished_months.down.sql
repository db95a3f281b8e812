DROP INDEX dag_version_code_of_code;

DROP INDEX dag_run_of_version;

DROP INDEX dag_run_unfinished_months;
