DROP TABLE deferral;
DROP TABLE trigger_asset;
DROP TABLE trigger;
DROP TABLE triggerer;
ALTER TABLE task_instance DROP COLUMN resumes;
