"""The pool of a Celery worker: one thread for each attempt under way, which only waits for the runner host.

Celery's own thread pool has a fixed size; this one can be told another, so that ``--autoscale`` works.
"""

from __future__ import annotations

from celery.concurrency.thread import TaskPool


class WaitingThreads(TaskPool):  # type: ignore[misc]  # celery has no types
    """Threads that wait. Those above the limit end their attempt and stay idle."""

    def grow(self, n: int) -> None:
        """Let ``n`` more attempts run at once."""
        self._resize(self.limit + n)

    def shrink(self, n: int) -> None:
        """Let ``n`` fewer attempts run at once; those under way come to their end."""
        self._resize(max(1, self.limit - n))

    def _resize(self, limit: int) -> None:
        self.limit = limit
        self.executor._max_workers = limit
