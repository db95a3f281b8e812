"""How long to wait before the next try of a task: constant or growing, capped, with a jitter that stays the same.

The jitter comes from a hash of the instance and the try, so that a delay can be told in advance and every scheduler
finds the same one (specification: retry policies; airflow-compatible meaning of ``retry_exponential_backoff``).
"""

from __future__ import annotations

import hashlib
import math
from typing import Final

from treadle.document import TaskDocument

MOST_SECONDS: Final = 24 * 3600.0
"""No delay is longer than a day."""


def retry_delay(task: TaskDocument, *, key: str, try_number: int) -> float:
    """Return the seconds between the end of try ``try_number`` (1, 2, ...) and the next try.

    ``key`` names the instance (DAG, run, task, map index). With a back-off of m the delay lies in [x, 2x) where
    x = ``retry_delay`` times m to the power of the tries before, at least one second.
    """
    delay = task.retry_delay_seconds
    growth = task.retry_exponential_backoff
    if growth > 0 and growth != 1:
        least = max(1, math.ceil(_grown(delay, growth, min(try_number - 1, 64))))
        noise = int.from_bytes(hashlib.sha1(f"{key}#{try_number}".encode(), usedforsecurity=False).digest()[:8])
        delay = least + noise % least
    most = MOST_SECONDS if task.max_retry_delay_seconds is None else min(MOST_SECONDS, task.max_retry_delay_seconds)
    return float(min(delay, most))


def _grown(delay: float, growth: float, times: int) -> float:
    """Return ``delay`` times ``growth`` to the power of ``times``, within MOST_SECONDS, whatever floats can hold."""
    if delay == 0:
        return 0.0
    power = math.log(delay) + times * math.log(growth)
    return MOST_SECONDS if power > math.log(MOST_SECONDS) else delay * growth**times
