"""When a step is tried again within its attempt: transient failures and rate limits, with growing waits.

Every other failure stands: it ends the task's attempt, and the task's own retries decide (specification, durable runs,
retryable-classes). Each failed try is told to whoever records it, before the wait, so that a crash while waiting leaves
it known.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from treadle.errors import InvalidArgumentError, RateLimitedError, TaskEnd, TransientError

log = logging.getLogger("treadle.task")

Note = Callable[[int, BaseException, float | None], None]
"""Records a failed try: which one, counted from 1, its error, and the seconds to the next one; None: it stands."""

TRANSIENT: tuple[type[BaseException], ...] = (TransientError, ConnectionError, TimeoutError)


@dataclass(frozen=True, slots=True)
class StepRetries:
    """``retries`` further tries, the first after ``retry_delay`` seconds, each next one ``backoff`` times later."""

    retries: int = 3
    retry_delay: float = 1.0
    backoff: float = 2.0
    max_delay: float = 60.0
    retry_on: tuple[type[BaseException], ...] = TRANSIENT

    def __post_init__(self) -> None:
        for name, least in (("retries", 0), ("retry_delay", 0), ("backoff", 1), ("max_delay", 0)):
            if not getattr(self, name) >= least:
                raise InvalidArgumentError("@task.step", name, getattr(self, name), f"a number of at least {least}")

    def delay(self, failed: int, error: BaseException) -> float:
        """Return the seconds to wait after the ``failed``-th failure; what a rate limit asks for counts if longer."""
        grown = min(self.retry_delay * self.backoff ** (failed - 1), self.max_delay)
        asked = error.retry_after if isinstance(error, RateLimitedError) else None
        return max(grown, asked or 0.0)

    def call(self, name: str, function: Callable[[], Any], note: Note) -> Any:
        """Call ``function`` until it returns, fails otherwise, or its tries are used up; ``note`` each failure."""
        failed = 0
        caught: tuple[type[BaseException], ...] = (Exception, *self.retry_on)
        while True:
            try:
                return function()
            except caught as error:
                failed += 1
                is_last = failed > self.retries or not isinstance(error, self.retry_on)
                wait = None if is_last else self.delay(failed, error)
                if not isinstance(error, TaskEnd):  # a decision of the task, not a failure of the step
                    note(failed, error, wait)
                if wait is None:
                    raise
                log.warning("step %r failed (%s), trying again in %g s: %s", name, type(error).__name__, wait, error)
                time.sleep(wait)
