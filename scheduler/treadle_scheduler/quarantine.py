"""Runs that could not be advanced: set aside alone and tried again, later each time, while all others go on.

``advance_runs`` puts a run here when its evaluation raised, and takes it out when it went well. A warning of the DAG
tells people, and "why" repeats it. What stands here dies with the scheduler; the next one tries once more.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import dag_warnings
from treadle_metadata.planning import EVALUATION, not_advanced
from treadle_metadata.transitions import runs

log = logging.getLogger(__name__)

FIRST: Final = timedelta(seconds=5)
LONGEST: Final = timedelta(minutes=5)


class Quarantine:
    """How often each run failed to be advanced, one time after the other."""

    def __init__(self) -> None:
        self._failures: dict[int, int] = {}

    def put(self, connection: Connection, run: Mapping[str, Any], error: Exception, *, now: datetime) -> None:
        """Note that a run could not be advanced, tell of it, and ask that it be looked at again later."""
        failures = self._failures.get(run["id"], 0)
        self._failures[run["id"]] = failures + 1
        wait = min(LONGEST, FIRST * 2 ** min(failures, 10))
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:500]
        log.error(
            "run %r of DAG %r (id %d) cannot be advanced, it is tried again in %g s: %s",
            run["run_id"], run["dag_id"], run["id"], wait.total_seconds(), reason,
            exc_info=error,
        )  # fmt: skip
        told = {run["dag_id"]: not_advanced(run["run_id"], reason)}
        dag_warnings.warn(connection, EVALUATION, told, now=now)
        runs.wake(connection, [(run["id"], now + wait)])

    def release(self, connection: Connection, run: Mapping[str, Any]) -> None:
        """Take a run out, if it is here, and take back what was told of it."""
        if self._failures.pop(run["id"], None) is not None:
            dag_warnings.withdraw(connection, EVALUATION, [run["dag_id"]])
