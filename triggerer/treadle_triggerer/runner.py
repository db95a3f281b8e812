"""All triggers of one loop: taken up, put down, cancelled and reported, as the parent says and as they fire.

Called by ``loop_process`` with the parent's orders. Reports gather within a turn of the loop and go out together. A
kill loses what is here, and nothing of it counts before the server has it: the triggers run again elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final

from treadle_triggerer.capture import CURRENT, Lines
from treadle_triggerer.loading import Classes
from treadle_triggerer.marks import Marks
from treadle_triggerer.one import Event, RunningTrigger
from treadle_worker.frames import Message

_REMEMBERED: Final = 10_000
_STARTED_AT_ONCE: Final = 200
"""Triggers that are started before the loop turns again: the others shall not wait for a thousand new ones."""

log = logging.getLogger("treadle.triggerer")


class Runner:
    """The triggers that run here."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        dags_folder: str,
        send: Callable[[Message], None],
        marks: Marks | None = None,
    ) -> None:
        self._loop = loop
        self._marks = marks or Marks()
        self._send = send
        self._classes = Classes(dags_folder)
        self._running: dict[int, RunningTrigger] = {}
        self._ending: set[int] = set()
        self._done: deque[int] = deque(maxlen=_REMEMBERED)
        self._background: set[asyncio.Task[None]] = set()
        self.lines = Lines(self._soon_from_anywhere)
        self._watchers: set[int] = set()
        # Numbers of no other loop: what is told of its events may come late.
        self._last = time.monotonic_ns()
        self._unrecorded: dict[int, asyncio.Future[None]] = {}
        self._events: list[Event] = []
        self._given_back: list[int] = []
        self._cancelled: list[int] = []
        self._is_due = False
        self.held = 0

    async def take(self, rows: list[Mapping[str, Any]], files: Mapping[str, Any]) -> None:
        """Run new triggers; one that comes cancelled is only told so."""
        for number, row in enumerate(rows, start=1):
            if row["id"] in self._running:
                continue
            one = RunningTrigger(row, files.get(str(row["version_id"])), self._classes)
            self._running[one.id] = one
            self.held += one.weight
            if row["cancelled_for"] is not None:
                self.cancel(one.id, row["cancelled_for"])
                continue
            one.task = self._loop.create_task(self._marks.task(one.id, one.run(self._report)), name=str(one.id))
            if row["is_watcher"]:
                self._watchers.add(one.id)
            else:
                one.task.add_done_callback(partial(self._is_over, one))
            if number % _STARTED_AT_ONCE == 0:
                await asyncio.sleep(0)

    def cancel(self, trigger: int, reason: str) -> None:
        """End a trigger for which nobody waits, with its clean-up; what is not here is acknowledged."""
        one = self._running.get(trigger)
        if one is None:
            self._cancelled.append(trigger)
            self._soon()
        elif trigger not in self._ending:
            self._ending.add(trigger)
            self._begin(self._cancel(one, reason), name=str(trigger))

    async def _cancel(self, one: RunningTrigger, reason: str) -> None:
        await one.cancel(reason)
        self._forget(one)
        self._cancelled.append(one.id)
        self._soon()

    def drop(self, triggers: list[int] | None) -> None:
        """Put down triggers (None: all) that are others' by now, or gone; nothing is reported of them."""
        for trigger in list(self._running) if triggers is None else triggers:
            one = self._running.get(trigger)
            if one is not None and trigger not in self._ending:
                self._forget(one)
                self._begin(one.put_down(), name=str(trigger))

    def give_back(self, weight: int) -> None:
        """Put down the newest triggers, up to ``weight`` together, for other triggerers."""
        for trigger in reversed(list(self._running)):
            if weight <= 0:
                return
            if trigger not in self._ending:
                one = self._running[trigger]
                weight -= one.weight
                self._ending.add(trigger)
                self._begin(self._give_back(one), name=str(trigger))

    async def _give_back(self, one: RunningTrigger) -> None:
        await one.put_down()
        if self._running.get(one.id) is one:
            self._forget(one)
            self._given_back.append(one.id)
            self._soon()

    def compare(self, owned: list[int]) -> None:
        """Drop what the server does not count as ours any more; give back what it does, and we do not know."""
        ours, known = set(owned), {*self._running, *self._done, *self._ending}
        self.drop([trigger for trigger in self._running if trigger not in ours])
        missing = sorted(ours - known)
        if missing:
            self._given_back += missing
            self._soon()

    async def end(self) -> None:
        """Put down everything, and clean up."""
        triggers = list(self._running.values())
        for one in triggers:
            one.is_leaving = True
            if one.task is not None:
                one.task.cancel()
        await asyncio.gather(*(one.task for one in triggers if one.task is not None), return_exceptions=True)

    def describe(self, name: str) -> tuple[int, str] | None:
        """Return id and class of the trigger whose task has this name."""
        one = self._running.get(int(name)) if name.isdigit() else None
        return None if one is None else (one.id, one.classpath)

    def _is_over(self, one: RunningTrigger, _task: asyncio.Task[None]) -> None:
        if one.id not in self._ending and self._running.get(one.id) is one:
            self._forget(one)
            self._done.append(one.id)

    def _forget(self, one: RunningTrigger) -> None:
        self._ending.discard(one.id)
        self._watchers.discard(one.id)
        if self._running.pop(one.id, None) is not None:
            self.held -= one.weight

    def _begin(self, act: Coroutine[Any, Any, None], name: str) -> None:
        task = self._loop.create_task(self._marks.task(int(name), act), name=name)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _report(self, event: Event) -> asyncio.Future[None]:
        """Report an event; the future is done once the server has it."""
        recorded: asyncio.Future[None] = self._loop.create_future()
        if event["kind"] == "event" and event["id"] in self._watchers:
            self._last += 1
            event["number"] = self._last
            self._unrecorded[self._last] = recorded
        self._events.append(event)
        self._soon()
        return recorded

    def recorded(self, numbers: list[int]) -> None:
        """The server has these events: their watchers go on."""
        for number in numbers:
            waiting = self._unrecorded.pop(number, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

    def _soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._flush)

    def _soon_from_anywhere(self) -> None:
        if CURRENT.get() is not None and not self._is_due:
            self._loop.call_soon_threadsafe(self._soon)

    def _flush(self) -> None:
        self._is_due = False
        self._send(
            {
                "kind": "happened",
                "events": self._events,
                "logs": self.lines.take(),
                "given_back": self._given_back,
                "cancelled": self._cancelled,
            }
        )
        self._events, self._given_back, self._cancelled = [], [], []
