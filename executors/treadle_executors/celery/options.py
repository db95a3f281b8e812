"""What a Celery worker is told; apart from the worker, so that the command line need not load Celery to say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a worker does: how many attempts at once (or between which numbers), from which queues, as whom."""

    queues: Sequence[str] = ("default",)
    concurrency: int = 16
    autoscale: tuple[int, int] | None = None
    """The most and the fewest attempts at once."""
    drain_seconds: float = 0.0
    """How long attempts under way may go on after the order to stop."""
    name: str | None = None
