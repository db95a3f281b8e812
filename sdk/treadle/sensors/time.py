"""Sensors that wait for a point in time. With ``mode="deferrable"`` the triggerer waits, and no worker is held."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, time, timedelta
from enum import Enum
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from treadle.errors import InvalidArgumentError
from treadle.moments import moment_of
from treadle.sensors.base import BaseSensor, Wait
from treadle.sensors.deferred import Deferred
from treadle.wording import did_you_mean


class _Until(Deferred, BaseSensor):
    """Waits until the moment that ``target`` works out."""

    can_defer: ClassVar[bool] = True

    def target(self, context: Any) -> datetime:
        """Return the moment, with a time zone."""
        raise NotImplementedError

    def poke(self, context: Any) -> bool:
        """Look at the clock."""
        target = self.target(context)
        self.log.info("Waiting until %s", target.isoformat())
        return datetime.now(UTC) >= target

    def trigger(self, context: Any) -> Any:
        """Return the trigger of the moment."""
        return importlib.import_module("treadle.triggers").DateTimeTrigger(self.target(context))


class DateTimeSensor(_Until):
    """Waits until ``target_time``: a datetime or ISO 8601 text, which may be a template; UTC without a time zone."""

    template_fields: Collection[str] = ("target_time",)

    def __init__(self, *, target_time: datetime | str, **arguments: Any) -> None:
        super().__init__(**arguments)
        if not isinstance(target_time, (datetime, str)):
            expected = "a datetime or ISO 8601 text"
            raise InvalidArgumentError(repr(self), "target_time", target_time, expected, site=self.site)
        self.target_time = target_time

    def target(self, context: Any) -> datetime:  # noqa: ARG002 - the contract of the base
        """Return the moment."""
        found = moment_of(self.target_time)
        if found is None:
            raise ValueError(f"target_time={self.target_time!r} is no point in time")
        return found


class TimeSensor(_Until):
    """Waits until ``target_time`` (a ``datetime.time``) of the day on which the run was due, in the DAG's time zone.

    The day is the run's own, so that a wait that goes on past midnight does not get a new day.
    """

    def __init__(self, *, target_time: time, **arguments: Any) -> None:
        super().__init__(**arguments)
        if not isinstance(target_time, time):
            raise InvalidArgumentError(repr(self), "target_time", target_time, "a datetime.time", site=self.site)
        self.target_time = target_time

    def target(self, context: Any) -> datetime:
        """Return the moment."""
        zone = self.target_time.tzinfo or _zone_of(context)
        return datetime.combine(_due(context).astimezone(zone), self.target_time.replace(tzinfo=None), tzinfo=zone)


class TimeDeltaSensor(_Until):
    """Waits until ``delta`` (timedelta or seconds) after the end of the run's data interval, or after it was due."""

    def __init__(self, *, delta: timedelta | float, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.delta = self.span("delta", delta)

    def target(self, context: Any) -> datetime:
        """Return the moment."""
        return (context["dag_run"].data_interval_end or _due(context)) + self.delta


class WaitSensor(Deferred, BaseSensor):
    """Waits for ``time_to_wait`` (timedelta or seconds), counted from the first start of the task."""

    can_defer: ClassVar[bool] = True

    def __init__(self, *, time_to_wait: timedelta | float, **arguments: Any) -> None:
        super().__init__(**{"poke_interval": time_to_wait, **arguments})
        self.time_to_wait = self.span("time_to_wait", time_to_wait)

    def poke(self, context: Any) -> bool:
        """Look how long the wait has lasted."""
        return Wait(self, context).waited >= self.time_to_wait.total_seconds()

    def trigger(self, context: Any) -> Any:
        """Return the trigger of the moment at which the wait is over."""
        left = self.time_to_wait - timedelta(seconds=Wait(self, context).waited)
        return importlib.import_module("treadle.triggers").DateTimeTrigger(datetime.now(UTC) + left)


class WeekDay(Enum):
    """The days of the week, as ``datetime.isoweekday`` numbers them."""

    MONDAY = 1
    TUESDAY = 2
    WEDNESDAY = 3
    THURSDAY = 4
    FRIDAY = 5
    SATURDAY = 6
    SUNDAY = 7


Days = str | WeekDay | Iterable[str | WeekDay]


class DayOfWeekSensor(BaseSensor):
    """Waits until it is one of the days ``week_day`` (names or :class:`WeekDay`) in the DAG's time zone.

    With ``use_task_logical_date`` it looks at the run's logical date in place of today.
    """

    def __init__(self, *, week_day: Days, use_task_logical_date: bool = False, **arguments: Any) -> None:
        super().__init__(**arguments)
        named = [week_day] if isinstance(week_day, (str, WeekDay)) else week_day
        self.days = frozenset(map(self._day, named))
        self.use_task_logical_date = use_task_logical_date

    def _day(self, one: Any) -> WeekDay:
        known = {day.name: day for day in WeekDay}
        name = one.name if isinstance(one, WeekDay) else str(one).upper()
        if name not in known:
            expected = f"a day such as 'Monday'{did_you_mean(name, known)}"
            raise InvalidArgumentError(repr(self), "week_day", one, expected, site=self.site)
        return known[name]

    def poke(self, context: Any) -> bool:
        """Look at the calendar."""
        moment = context["logical_date"] if self.use_task_logical_date else datetime.now(UTC)
        today = WeekDay(moment.astimezone(_zone_of(context)).isoweekday())
        self.log.info("It is %s", today.name.capitalize())
        return today in self.days


def _due(context: Any) -> datetime:
    run = context["dag_run"]
    due: datetime = run.run_after or run.logical_date or run.start_date
    return due


def _zone_of(context: Any) -> Any:
    return ZoneInfo(str(context["dag"].timezone))
