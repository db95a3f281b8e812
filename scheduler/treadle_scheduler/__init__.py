"""The scheduler: a loop of duties, and the DAG processor."""
