"""Deadlines of runs: a moment counted from a named base, and what is called when a run has not ended by then.

``DAG(deadline=...)`` takes one :class:`DeadlineAlert` or several. The scheduler works them out when a run is made, for
runs of every type, and calls each once (cases A57, A60). Names and meanings follow ``airflow.sdk`` 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from treadle.callbacks import Callback
from treadle.document import DeadlineDocument

_LONGEST: Final = timedelta(days=366 * 1000)


@dataclass(frozen=True, slots=True)
class Reference:
    """The base that a deadline counts from; made by :class:`DeadlineReference`."""

    kind: str
    fixed_at: datetime | None = None
    max_runs: int | None = None
    min_runs: int | None = None


class DeadlineReference:
    """The bases that there are. One's own would be code in the scheduler, so there is none."""

    DAGRUN_QUEUED_AT: Final = Reference("dagrun_queued_at")
    """When the run was made, or was cleared to run again; of one that may start later only, that time."""

    DAGRUN_LOGICAL_DATE: Final = Reference("dagrun_logical_date")
    """The run's logical date; of a run that has none, the time from which it may start."""

    @staticmethod
    def FIXED_DATETIME(moment: datetime) -> Reference:  # noqa: N802 - Airflow's name
        """Return an instant as a base; a naive one is read as UTC."""
        if not isinstance(moment, datetime):
            raise ValueError(f"FIXED_DATETIME({moment!r}): expected a datetime")
        return Reference("fixed_datetime", fixed_at=moment if moment.tzinfo else moment.replace(tzinfo=UTC))

    @staticmethod
    def AVERAGE_RUNTIME(max_runs: int = 10, min_runs: int | None = None) -> Reference:  # noqa: N802 - Airflow's name
        """Return as a base the time at which a run of average length would end, counted from when it is queued.

        The average is that of the last ``max_runs`` successful runs of the DAG; while there are fewer than
        ``min_runs`` (``max_runs``, if not given), runs have no such deadline.
        """
        least = max_runs if min_runs is None else min_runs
        for name, value in (("max_runs", max_runs), ("min_runs", least)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"AVERAGE_RUNTIME: {name}={value!r} cannot be used: expected a whole number above 0")
        if least > max_runs:
            raise ValueError(f"AVERAGE_RUNTIME: min_runs={least} is more than max_runs={max_runs}")
        return Reference("average_runtime", max_runs=max_runs, min_runs=least)


class DeadlineAlert:
    """Have ``callback`` called if a run has not ended ``interval`` after ``reference``.

    ``interval`` is a ``timedelta`` or seconds; negative, the deadline lies before its base. ``name`` is for people.

    Raises:
        ValueError: an argument cannot be used.
    """

    def __init__(
        self, reference: Reference, interval: timedelta | float, callback: Callback, name: str | None = None
    ) -> None:
        if not isinstance(reference, Reference):
            raise ValueError(
                f"DeadlineAlert: reference={reference!r} cannot be used: expected DeadlineReference.DAGRUN_QUEUED_AT, "
                ".DAGRUN_LOGICAL_DATE, .FIXED_DATETIME(...) or .AVERAGE_RUNTIME(...); a reference of one's own would "
                "run in the scheduler, which runs no user code"
            )
        if isinstance(interval, (int, float)) and not isinstance(interval, bool):
            interval = timedelta(seconds=interval)
        if not isinstance(interval, timedelta) or abs(interval) > _LONGEST:
            raise ValueError(f"DeadlineAlert: interval={interval!r} cannot be used: expected a timedelta or seconds")
        if not isinstance(callback, Callback):
            raise ValueError(f"DeadlineAlert: callback={callback!r} cannot be used: expected Async- or SyncCallback")
        if name is not None and not (isinstance(name, str) and 0 < len(name) <= 250):
            raise ValueError(f"DeadlineAlert: name={name!r} cannot be used: expected a text of 1 to 250 characters")
        self.reference = reference
        self.interval = interval
        self.callback = callback
        self.name = name

    def document(self) -> DeadlineDocument:
        """Return the plain form of the alert."""
        fixed_at = self.reference.fixed_at
        return DeadlineDocument(
            reference=self.reference.kind,
            interval_seconds=self.interval.total_seconds(),
            name=self.name,
            fixed_at=None if fixed_at is None else fixed_at.astimezone(UTC).isoformat(),
            max_runs=self.reference.max_runs,
            min_runs=self.reference.min_runs,
            callback=self.callback.path,
            is_async=self.callback.is_async,
            executor=self.callback.executor,
        )


def alerts(value: Any) -> tuple[DeadlineAlert, ...]:
    """Return one alert, a list of them or None as a tuple: what the DAG argument ``deadline`` becomes."""
    found = tuple(value) if isinstance(value, (list, tuple)) else () if value is None else (value,)
    if not all(isinstance(one, DeadlineAlert) for one in found):
        raise ValueError("a DeadlineAlert or a list of them")
    return found
