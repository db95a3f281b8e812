"""The errors of tasks that wait: sensors, human steps, and how an attempt ends in order to go on later.

Part of the tree that ``treadle.errors`` draws; loaded by tasks that wait. An instance that was suspended waits as
``up_for_reschedule``: it holds no slot, no worker knows of it, and nothing but its rows has to survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from treadle.errors import FailTask, TreadleError
from treadle.wording import shown

AN_ANSWER: Final = "an answer"
"""What a suspended attempt says it waits for, if it waits for a person; the server wakes it when one has answered."""


class TaskSuspended(BaseException):
    """The attempt ends here, and goes on in a new one of the same try: let it pass.

    No Exception, so that ``except Exception`` lets it pass. ``resume`` says when, and what may let it go on earlier.
    With ``has_limit`` false, ``until`` is a moment so far away that the message does not name it.
    """

    def __init__(self, until: datetime, waits_for: str = "", *, has_limit: bool = True) -> None:
        if not isinstance(until, datetime) or until.tzinfo is None:
            raise TypeError(f"a task cannot be suspended until {shown(until)}: expected a datetime with a time zone")
        at = until.astimezone(UTC).isoformat()
        self.resume = {"at": at, "name": waits_for, "inputs": ""}
        early = f", or before, with {waits_for}" if waits_for else ""
        super().__init__(f"it goes on at {at}{early}" if has_limit else f"it goes on with {waits_for}")


class RescheduleTask(TaskSuspended):
    """Raised by a task's own code: end this attempt and begin it anew at ``until``, without holding a slot."""


class ExternalTaskError(TreadleError):
    """What a sensor waits for in another DAG has ended in a state that it takes for a failure, or does not exist."""


class AnswerError(TreadleError):
    """What a sensor asked gave an answer that it can make nothing of: the status of an HTTP answer, a row."""


class SensorTimeout(FailTask):
    """A sensor's condition did not come true in time; no retry is tried, since it would not reset the time."""

    def __init__(self, waited: float, timeout: float, pokes: int) -> None:
        looked = "once" if pokes == 1 else f"{pokes} times"
        super().__init__(
            f"the condition did not come true in {waited:.0f} s (it was looked at {looked}); the sensor's timeout is "
            f"{timeout:g} s"
        )
        self.waited = waited


class HumanStepTimeout(TreadleError):
    """Nobody answered a human step in time, and it has no defaults."""

    def __init__(self, subject: str, due_at: str) -> None:
        super().__init__(f"nobody answered {shown(subject)} by {due_at}, and it has no defaults")


class HumanStepRejected(FailTask):
    """An approval was refused, and the operator has ``fail_on_reject``."""

    def __init__(self, subject: str, by: str | None, chosen: Sequence[str]) -> None:
        super().__init__(f"{shown(subject)} was answered with {', '.join(chosen)} by {by or 'its defaults'}")
