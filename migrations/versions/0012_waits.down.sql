DROP TABLE human_step;

DROP TABLE sensor_wait;
