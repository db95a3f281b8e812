"""The base of all sensors: tasks that look, again and again, whether something is the case.

``poke`` answers once; this class waits between the pokes, by ``mode``. ``poke`` keeps the worker's slot and sleeps in
it. ``reschedule`` ends the attempt and has the scheduler start it again for the next poke: no slot is held between
two. ``deferrable`` hands the wait to the triggerer. How long is waited counts from the first attempt after the task was
made or cleared, and is kept in the database: neither a reschedule, a retry nor a dead worker begins it anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Literal, TypeVar

from treadle.errors import FailTask, InvalidArgumentError, NotInTaskError, SkipTask, TaskTimeout
from treadle.errors_of_waits import RescheduleTask, SensorTimeout
from treadle.operators.arguments import seconds_or_delta
from treadle.operators.base import BaseOperator
from treadle.runtime import current
from treadle.sensors.pauses import Pauses

Mode = Literal["poke", "reschedule", "deferrable"]

MODES: Final = ("poke", "reschedule", "deferrable")
DEFAULT_TIMEOUT: Final = timedelta(days=7)


class PokeReturnValue:
    """What ``poke`` may return in place of a bool: whether it is done, and the XCom of the task if it is."""

    def __init__(self, is_done: bool, xcom_value: Any = None) -> None:
        self.is_done = is_done
        self.xcom_value = xcom_value

    def __bool__(self) -> bool:
        return self.is_done


class BaseSensor(BaseOperator):
    """Pokes until the condition is true. Subclasses define ``poke``. Times are ``timedelta`` or seconds.

    ``timeout`` is for the whole wait; once it is over the task fails without a retry (``SensorTimeout``), or is skipped
    with ``soft_fail``. ``exponential_backoff`` doubles ``poke_interval`` from poke to poke, up to ``max_wait``.
    ``silent_fail`` takes an error of ``poke`` for a "not yet"; ``never_fail`` skips the task on any error.
    ``deferrable=True`` is ``mode="deferrable"``.

    Raises:
        InvalidArgumentError: a time or the mode cannot be used, or ``soft_fail`` and ``never_fail`` are both given.
    """

    can_defer: ClassVar[bool] = False
    """Whether the sensor has a trigger, so that ``mode="deferrable"`` can be chosen."""

    only_pokes: ClassVar[bool] = False
    """Whether it keeps something from poke to poke, so that no other mode can be chosen (:func:`poke_mode_only`)."""

    def __init__(
        self,
        *,
        poke_interval: timedelta | float = 60.0,
        timeout: timedelta | float = DEFAULT_TIMEOUT,
        soft_fail: bool = False,
        mode: Mode = "poke",
        exponential_backoff: bool = False,
        max_wait: timedelta | float | None = None,
        silent_fail: bool = False,
        never_fail: bool = False,
        deferrable: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.poke_interval = self.span("poke_interval", poke_interval)
        self.timeout = self.span("timeout", timeout)
        self.max_wait = None if max_wait is None else self.span("max_wait", max_wait)
        self.soft_fail = soft_fail
        self.never_fail = never_fail
        self.silent_fail = silent_fail
        self.exponential_backoff = exponential_backoff
        self.mode: Mode = "deferrable" if deferrable else mode
        self._check()

    def span(self, name: str, value: Any) -> timedelta:
        """Return an argument that is a ``timedelta`` or a number of seconds.

        Raises:
            InvalidArgumentError: it is neither, or negative.
        """
        try:
            span = seconds_or_delta(value)
        except ValueError as reason:
            raise InvalidArgumentError(repr(self), name, value, str(reason), site=self.site) from None
        if span is None:
            raise InvalidArgumentError(repr(self), name, value, "a timedelta or a number of seconds", site=self.site)
        return span

    def _check(self) -> None:
        if self.mode not in MODES:
            raise InvalidArgumentError(repr(self), "mode", self.mode, f"one of {', '.join(MODES)}", site=self.site)
        if self.only_pokes and self.mode != "poke":
            expected = "poke: this sensor keeps something from poke to poke"
            raise InvalidArgumentError(repr(self), "mode", self.mode, expected, site=self.site)
        if self.mode == "deferrable" and not self.can_defer:
            expected = "poke or reschedule: this sensor has no trigger that could wait in its place"
            raise InvalidArgumentError(repr(self), "mode", self.mode, expected, site=self.site)
        if self.soft_fail and self.never_fail:
            raise InvalidArgumentError(
                repr(self), "never_fail", True, "soft_fail or never_fail, not both", site=self.site
            )

    def poke(self, context: Any) -> bool | PokeReturnValue:
        """Return whether the condition is true at this moment; a :class:`PokeReturnValue` carries an XCom."""
        raise NotImplementedError(f"{type(self).__name__} defines no poke(context)")

    def execute(self, context: Any) -> Any:
        """Wait until ``poke`` is true; return what it carries.

        Raises:
            SensorTimeout: it was not true within ``timeout``.
            SkipTask: the same, with ``soft_fail``; or any failure, with ``never_fail``.
            RescheduleTask: it is not true yet, and the mode is ``reschedule``.
        """
        with self.failing_softly():
            return self._wait(context)

    def _wait(self, context: Any) -> Any:
        found, wait = self.look(context), None
        while not found:
            wait = wait or Wait(self, context)
            pause = wait.pause()
            # In a test there is no scheduler that would start it again.
            if self.mode == "reschedule" and not context["test_mode"]:
                self.log.info("Not yet; the next poke is in %.0f s", pause)
                raise RescheduleTask(wait.until(pause))
            time.sleep(pause)
            found = self.look(context)
            wait.pokes += 1
        self.log.info("The condition is true")
        return found.xcom_value

    def look(self, context: Any) -> PokeReturnValue:
        """Poke once; with ``silent_fail`` an error is a "not yet"."""
        self.log.info("Poking")
        try:
            found = self.poke(context)
        except (SkipTask, FailTask):
            raise
        except Exception:
            if not self.silent_fail:
                raise
            self.log.exception("The poke failed, which counts as: not yet")
            return PokeReturnValue(False)
        return found if isinstance(found, PokeReturnValue) else PokeReturnValue(bool(found))

    @contextmanager
    def failing_softly(self) -> Iterator[None]:
        """Make a skip of the failures that ``soft_fail`` (the end of a wait) or ``never_fail`` (any) ask it of."""
        try:
            yield
        except SkipTask:
            raise
        except (FailTask, TaskTimeout) as error:
            if not (self.soft_fail or self.never_fail):
                raise
            raise SkipTask(f"skipped in place of a failure: {error}") from error
        except Exception as error:
            if not self.never_fail:
                raise
            raise SkipTask(f"skipped in place of a failure: {type(error).__name__}: {error}") from error

    @property
    def pauses(self) -> Pauses:
        """The settings of the pauses between the pokes."""
        return Pauses(
            poke_interval=self.poke_interval.total_seconds(),
            timeout=self.timeout.total_seconds(),
            exponential_backoff=self.exponential_backoff,
            max_wait=None if self.max_wait is None else self.max_wait.total_seconds(),
        )


class Wait:
    """A wait under way: how long it has lasted, by the server's account, and how many pokes were in vain."""

    def __init__(self, sensor: BaseSensor, context: Any, clock: Callable[[], float] = time.monotonic) -> None:
        ti = context["ti"]
        self._sensor = sensor
        self._of = f"{ti.dag_id}.{ti.task_id}[{ti.map_index}] of {ti.run_id}"
        self._clock = clock
        supervisor = current.supervisor()
        if supervisor is None:
            raise NotInTaskError(f"the wait of {sensor!r}")
        first_try = max(1, ti.max_tries - sensor.retries + 1)
        timeout = sensor.timeout.total_seconds()
        known = supervisor.note_wait(self._of, {"mode": sensor.mode, "timeout": timeout, "first_try": first_try})
        self.pokes: int = known["pokes"]
        self._at = datetime.fromisoformat(known["at"])
        self._waited: float = known["waited"]
        self._since = clock()

    @property
    def waited(self) -> float:
        """Seconds since the first attempt began."""
        return self._waited + self._clock() - self._since

    @property
    def left(self) -> float:
        """Seconds until the timeout; less than 0 after it."""
        return self._sensor.pauses.timeout - self.waited

    def until(self, pause: float) -> datetime:
        """Return when ``pause`` seconds from now are over, by the server's clock: this machine's may be wrong."""
        return self._at + timedelta(seconds=self._clock() - self._since + pause)

    def pause(self) -> float:
        """Return the seconds until the next poke.

        Raises:
            SensorTimeout: the timeout is over.
        """
        pause = self._sensor.pauses.next(self.pokes, self.waited, self._of)
        if pause is None:
            raise SensorTimeout(self.waited, self._sensor.pauses.timeout, self.pokes)
        return pause


BaseSensorOperator = BaseSensor
"""Airflow's name."""

Kind = TypeVar("Kind", bound=type[BaseSensor])


def poke_mode_only(kind: Kind) -> Kind:
    """Decorator of a sensor class that keeps something from poke to poke: other modes are refused in the DAG file."""
    kind.only_pokes = True
    return kind
