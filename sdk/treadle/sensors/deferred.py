"""Sensors that a trigger can wait for: what ``mode="deferrable"`` does, whatever the trigger.

The sensor looks once itself. If that is in vain, its wait is noted and the triggerer waits in its place, for what is
left of the timeout; the event's payload becomes the result.
"""

from __future__ import annotations

from typing import Any

from treadle.errors import InvalidArgumentError
from treadle.errors_of_waits import SensorTimeout
from treadle.sensors.base import BaseSensor, Wait
from treadle.triggers.deferral import FAIL, TIMED_OUT


class Deferred(BaseSensor):
    """A sensor with a trigger: subclasses define ``trigger`` and, where an event says more than "yes", ``received``."""

    def refuse_deferral(self, name: str, is_given: bool) -> None:
        """Refuse an argument that only a worker can heed, if the mode is ``deferrable``.

        Raises:
            InvalidArgumentError: it is given.
        """
        if is_given and self.mode == "deferrable":
            expected = "it to be left out: the triggerer waits and cannot heed it; use mode='reschedule'"
            raise InvalidArgumentError(repr(self), name, getattr(self, name), expected, site=self.site)

    def trigger(self, context: Any) -> Any:
        """Return the trigger that waits in the sensor's place (``treadle.triggers.BaseTrigger``)."""
        raise NotImplementedError(f"{type(self).__name__} defines no trigger(context)")

    def received(self, context: Any, event: Any) -> Any:  # noqa: ARG002 - for subclasses
        """Return the sensor's result, or raise, by what the trigger's event says."""
        return None

    def execute(self, context: Any) -> Any:
        """Wait, in the triggerer if the mode is ``deferrable``; in a test the sensor pokes itself."""
        if self.mode != "deferrable" or context["test_mode"]:
            return super().execute(context)
        with self.failing_softly():
            found = self.look(context)
            if found:
                return found.xcom_value
            wait = Wait(self, context)
            wait.pause()
            return self.defer(trigger=self.trigger(context), method_name="execute_complete", timeout=wait.left)

    def execute_complete(self, context: Any, event: Any = None) -> Any:
        """Go on once the trigger's event is here."""
        with self.failing_softly():
            return self.received(context, event)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Any) -> Any:
        """Go on after the deferral; its end is the sensor's timeout.

        Raises:
            SensorTimeout: the trigger brought no event in time.
            SkipTask: the same, or a failure, as ``soft_fail`` and ``never_fail`` ask.
        """
        kwargs = next_kwargs or {}
        with self.failing_softly():
            if next_method == FAIL and kwargs.get("kind") == TIMED_OUT:
                raise SensorTimeout(self.pauses.timeout, self.pauses.timeout, 1)
            return super().resume_execution(next_method, kwargs, context)
