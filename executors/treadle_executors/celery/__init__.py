"""Attempts by way of Celery: the executor that publishes them, and the worker that runs them (extra ``celery``)."""
