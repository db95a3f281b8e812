"""Runs that could not be advanced: set aside alone and tried again, later each time, while all others go on.

``advance_runs`` puts a run here when its evaluation raised, and takes it out when it went well. A warning of the DAG
tells people, and "why" repeats it. What stands here dies with the scheduler; the next one tries once more, and takes
back what was told before its time of DAGs whose runs it advances.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
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
    """How often each run failed to be advanced, one time after the other, and which DAGs are warned of that."""

    def __init__(self) -> None:
        self._failures: dict[int, tuple[str, int]] = {}
        """By run: its DAG, and how often."""
        self._not_started: frozenset[str] = frozenset()
        """The DAGs of which a run cannot start."""
        self._sure: set[str] = set()
        """The DAGs that are certainly not warned."""

    def put(self, connection: Connection, run: Mapping[str, Any], error: Exception, *, now: datetime) -> None:
        """Note that a run could not be advanced, tell of it, and ask that it be looked at again later."""
        _, failures = self._failures.get(run["id"], ("", 0))
        self._failures[run["id"]] = run["dag_id"], failures + 1
        wait = min(LONGEST, FIRST * 2 ** min(failures, 10))
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:500]
        log.error(
            "run %r of DAG %r (id %d) cannot be advanced, it is tried again in %g s: %s",
            run["run_id"], run["dag_id"], run["id"], wait.total_seconds(), reason,
            exc_info=error,
        )  # fmt: skip
        self._tell(connection, {run["dag_id"]: not_advanced(run["run_id"], reason)}, now)
        runs.wake(connection, [(run["id"], now + wait)])

    def hold(
        self, connection: Connection, held: Iterable[tuple[Mapping[str, Any], Exception]], *, now: datetime
    ) -> None:
        """Tell of queued runs that cannot start, each with its error: of all that there are at this moment."""
        told = {run["dag_id"]: not_advanced(run["run_id"], str(error)) for run, error in held}
        self._not_started = frozenset(told)
        self._tell(connection, told, now)

    def _tell(self, connection: Connection, told: Mapping[str, str], now: datetime) -> None:
        dag_warnings.warn(connection, EVALUATION, told, now=now)
        self._sure -= told.keys()

    def release(self, connection: Connection, advanced: Sequence[Mapping[str, Any]]) -> None:
        """Take out the runs that were advanced, where they are here, and take back what was told of their DAGs.

        A DAG of which another run is here stays warned. One statement at most, and none if there is nothing to do.
        """
        for run in advanced:
            self._failures.pop(run["id"], None)
        warned = {dag_id for dag_id, _ in self._failures.values()} | self._not_started
        well = {run["dag_id"] for run in advanced} - self._sure - warned
        dag_warnings.withdraw(connection, EVALUATION, sorted(well))
        self._sure |= well

    def doubt(self) -> None:
        """Note that the transaction of a release may not have been committed."""
        self._sure.clear()
