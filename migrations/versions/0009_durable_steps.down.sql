DROP TABLE work_item;

DROP TABLE durable_blob;

DROP TABLE durable_step;

DROP TABLE durable_journal;
