"""When a step is tried again within its attempt: transient failures and rate limits, with growing waits.

Every other failure stands: it ends the task's attempt, and the task's own retries decide (specification, durable runs,
retryable-classes).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from treadle.errors import InvalidArgumentError, RateLimitedError, TransientError

log = logging.getLogger("treadle.task")

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

    def call(self, name: str, function: Callable[[], Any]) -> Any:
        """Call ``function`` until it returns, fails otherwise, or its tries are used up."""
        failed = 0
        while True:
            try:
                return function()
            except self.retry_on as error:
                failed += 1
                if failed > self.retries:
                    raise
                wait = self.delay(failed, error)
                log.warning("step %r failed (%s), trying again in %g s: %s", name, type(error).__name__, wait, error)
                time.sleep(wait)
