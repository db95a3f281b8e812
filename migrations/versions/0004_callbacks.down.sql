DROP TABLE deadline;
DROP TABLE callback;
ALTER TABLE task_attempt DROP COLUMN called_back_at;
ALTER TABLE dag_version DROP COLUMN deadlines;
ALTER TABLE dag_version DROP COLUMN callbacks;
