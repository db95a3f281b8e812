"""The base of triggers, and the events by which they tell that a wait is over.

A trigger waits in a triggerer's event loop, in a process without database credentials. It is made anew from
``serialize()`` wherever it runs: in another triggerer after a crash, or to be cancelled. So it keeps no state of its
own but its arguments, and ``run`` may begin more than once.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar, Final, Literal

_LOG: Final = "treadle.triggers"


class TriggerEvent:
    """What a task waited for has come: ``payload`` becomes the argument ``event`` of the method that goes on.

    ``payload`` is carried like an XCom: JSON, dates and the other types that ``treadle.xcom`` knows.
    """

    __slots__ = ("payload",)

    def __init__(self, payload: Any = None) -> None:
        self.payload = payload

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars_of(self) == vars_of(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.payload!r}>"


class BaseTaskEndEvent(TriggerEvent):
    """The task is over: no worker goes on with it. Use one of the classes below.

    ``xcoms`` are pushed for the task, by key. Retries and callbacks are respected: a failure with tries left is retried
    (case D2).
    """

    __slots__ = ("reason", "xcoms")

    outcome: ClassVar[Literal["success", "failed", "skipped"]]

    def __init__(self, *, xcoms: Mapping[str, Any] | None = None, reason: str = "") -> None:
        super().__init__(None)
        self.xcoms = dict(xcoms or {})
        self.reason = reason

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.reason or self.xcoms!r}>"


class TaskSuccessEvent(BaseTaskEndEvent):
    """End the task as succeeded."""

    __slots__ = ()
    outcome = "success"


class TaskFailedEvent(BaseTaskEndEvent):
    """End the task's try as failed; ``reason`` is its error."""

    __slots__ = ()
    outcome = "failed"


class TaskSkippedEvent(BaseTaskEndEvent):
    """End the task as skipped."""

    __slots__ = ()
    outcome = "skipped"


def vars_of(event: TriggerEvent) -> tuple[Any, ...]:
    """Return what an event carries."""
    return (event.payload, getattr(event, "xcoms", None), getattr(event, "reason", None))


class BaseTrigger:
    """One wait. Subclasses define :meth:`serialize` and :meth:`run`.

    All of them share one event loop: ``run`` may never block it. A trigger that does is named in the log, and ended
    alone after a while.
    """

    weight: ClassVar[int] = 1
    """How much of a triggerer's capacity one such trigger takes."""

    cancelled_by_success: ClassVar[bool] = True
    """Whether :meth:`on_cancel` is called, too, when a person marks the task as succeeded."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the path of the class, and the keyword arguments to make an equal trigger with.

        The arguments are carried like XComs, and encrypted where they are stored.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no serialize()")

    def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, then yield a :class:`TriggerEvent`. An asynchronous generator.

        A deferred task takes the first event and the generator is closed; a watcher of assets may yield many. One that
        ends without an event fails its task.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no run()")

    async def cleanup(self) -> None:
        """Called when the trigger no longer runs in this triggerer, for whatever reason: close what ``run`` opened.

        The wait may go on elsewhere: do not end here what was started outside. That is :meth:`on_cancel`.
        """

    async def on_cancel(self) -> None:
        """Called when nobody waits any more: the task was cleared or marked, its run ended, its time was over.

        End what was started outside, such as a paid remote job (case D7). Not called when a triggerer stops or dies,
        nor after an event. A triggerer that dies meanwhile leaves it to be called again.
        """

    @property
    def log(self) -> logging.Logger:
        """The trigger's logger: what it writes goes to the log of the task that waits."""
        return logging.getLogger(_LOG)

    def __repr__(self) -> str:
        # Arguments may be secrets.
        return f"<{type(self).__name__}>"


class BaseEventTrigger(BaseTrigger):
    """A trigger that a watcher of assets may have: each of its events becomes an event of the asset.

    Watchers with an equal :meth:`shared_stream_key` share one poll (case D11).
    """

    def shared_stream_key(self) -> Any:
        """Return what equal watchers have in common; by default their class and arguments. None: never share."""
        return self.serialize()
