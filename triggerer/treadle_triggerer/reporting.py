"""Carries to the server what happened to triggers: in order, whatever gathered in one request, again until it is told.

Used by ``daemon``; one thread. A report that the server refuses, or fails at, is sent in halves, so that one bad part
holds up no other: one that the server fails at is set aside, and an event that cannot be stored fails its own trigger.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from treadle_triggerer.aside import Aside, SetAside
from treadle_triggerer.server import Server, ServerFailed, ServerRefused, ServerUnavailable

log = logging.getLogger(__name__)

Happened = dict[str, list[Any]]

_KINDS: Final = ("logs", "events", "given_back", "cancelled")
MOST_TEXT: Final = 16 * 1024 * 1024
"""Characters of what triggers log that may wait for the server; more is left out, and that is said."""

_MOST_EVENTS: Final = 1000
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_TRIES: Final = 3
"""How often a report is sent as it is before the part is looked for at which the server fails."""

_LOST: Final = "lost"
"""Marks the failure of a trigger that stands for what could not be stored."""


class Reporting:
    """What is on its way. ``process_id`` gives the id under which the server knows this triggerer.

    ``on_recorded`` gets the numbers of events that have one, once the server has them, or never will.
    """

    def __init__(
        self, server: Server, process_id: Callable[[], str | None], on_recorded: Callable[[list[int]], None]
    ) -> None:
        self._server = server
        self._on_recorded = on_recorded
        self._process_id = process_id
        self._gathered: Happened = _nothing()
        self._aside = Aside()
        self._accepted = 0
        self._text = 0
        self._is_leaving_out = False
        self._changed = threading.Condition()
        self._is_sending = False
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="reporting", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add(self, happened: dict[str, Any]) -> None:
        """Report this, too."""
        with self._changed:
            for kind in _KINDS:
                said = happened.get(kind) or ()
                self._gathered[kind] += self._fitting(said) if kind == "logs" else said
            self._changed.notify_all()

    def _fitting(self, lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield what fits beside the lines that wait: a server that is away for long must not cost all memory."""
        for one in lines:
            if self._text + len(one["text"]) <= MOST_TEXT:
                self._text += len(one["text"])
                yield one
            elif not self._is_leaving_out:
                self._is_leaving_out = True
                log.warning("triggers log more than can wait for the server; some of it is left out")

    def flush(self, seconds: float) -> bool:
        """Wait until all is told, at most so long; tell whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_sending and not any(self._gathered.values()), seconds)

    def end(self, seconds: float) -> None:
        """Tell what is left, for so long at most, and stop."""
        if self._thread.ident is not None and not self.flush(seconds):
            log.warning("stopped before the server had heard of all events; their triggers will run again")
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def forget(self) -> None:
        """Forget what was set aside: the loop that said it is gone, and its triggers run again elsewhere."""
        with self._changed:
            self._aside = Aside()

    def trouble(self) -> tuple[int, str] | None:
        """Return the trigger at whose event the server fails, and a sentence of it; None: there is none."""
        waiting = [one for one in self._aside.waiting if one.kind == "events"]
        if not waiting:
            return None
        trigger = waiting[0].part["id"]
        return trigger, f"the server fails at what trigger {trigger} brought ({len(waiting)} such in all)"

    def _serve(self) -> None:
        while True:
            with self._changed:
                seconds = self._aside.seconds(time.monotonic())
                self._changed.wait_for(lambda: self._stopping or any(self._gathered.values()), seconds)
                if self._stopping:
                    return
                batch, self._gathered = _split(self._gathered)
                self._text, self._is_leaving_out = 0, False
                self._is_sending = any(batch.values())
                due = self._aside.take_due(time.monotonic())
            try:
                if self._is_sending:
                    self._send(batch)
                for one in due:
                    self._try_again(one)
            except Exception:
                # Without this thread no event would ever reach the server.
                log.exception("events could not be reported")
            with self._changed:
                self._is_sending = False
                self._changed.notify_all()

    def _send(self, batch: Happened, tries: int = _TRIES) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping:
            try:
                self._record(batch)
            except ServerUnavailable as error:
                tries -= isinstance(error, ServerFailed)
                if tries <= 0:
                    self._send_apart(batch, error)
                    return
                log.warning("events cannot be reported yet: %s", error)
                time.sleep(pause)
                pause = min(_LONGEST_PAUSE, 2 * pause)
            except ServerRefused as error:
                self._send_apart(batch, error)
                return
            else:
                return

    def _record(self, batch: Happened) -> None:
        """Send a batch once. Raises as ``Server.record`` does."""
        self._server.record({"process_id": self._process_id(), **batch})
        self._accepted += len(batch["events"])
        self._confirm(batch["events"])

    def _confirm(self, events: Iterable[dict[str, Any]]) -> None:
        numbers = [event["number"] for event in events if "number" in event]
        if numbers:
            self._on_recorded(numbers)

    def _send_apart(self, batch: Happened, error: ServerUnavailable | ServerRefused) -> None:
        """Send a batch in halves, down to the one part that is refused, or that the server fails at."""
        parts = [(kind, one) for kind in _KINDS for one in batch[kind]]
        if len(parts) > 1:
            for half in (parts[: len(parts) // 2], parts[len(parts) // 2 :]):
                self._send({kind: [one for of, one in half if of == kind] for kind in _KINDS}, tries=1)
            return
        ((kind, one),) = parts
        log.error("%s", error)
        if isinstance(error, ServerRefused):
            self._give_up(kind, one, error)
        else:
            self._aside.add(kind, one, accepted=self._accepted, now=time.monotonic())

    def _try_again(self, one: SetAside) -> None:
        try:
            self._record({**_nothing(), one.kind: [one.part]})
        except ServerUnavailable as error:
            is_last = isinstance(error, ServerFailed) and one.is_hopeless(self._accepted)
            if is_last and _can_be_left(one.kind, one.part):
                self._give_up(one.kind, one.part, error)
            else:
                self._aside.again(one, time.monotonic(), counts=isinstance(error, ServerFailed))
        except ServerRefused as error:
            self._give_up(one.kind, one.part, error)

    def _give_up(self, kind: str, one: Any, error: ServerUnavailable | ServerRefused) -> None:
        """Leave out what cannot be told; the trigger of an event fails instead, and a watcher goes on."""
        log.error("left out, of the %s of a trigger: %s", kind, error)
        if kind != "events" or not _can_be_left(kind, one):
            return
        self._confirm([one])
        if "number" not in one:
            what = "its failure" if one["kind"] == "failed" else "its event"
            plain = str(error).encode("ascii", "backslashreplace").decode().replace("\0", "")
            failed = {"id": one["id"], "kind": "failed", "error": f"{what} could not be stored: {plain}", _LOST: True}
            self._send({**_nothing(), "events": [failed]}, tries=1)


def _can_be_left(kind: str, one: Any) -> bool:
    """Tell whether something can stand for a part, or it is dispensable: not so the last that is said of a trigger."""
    return kind == "logs" or (kind == "events" and _LOST not in one)


def _nothing() -> Happened:
    return {kind: [] for kind in _KINDS}


def _split(gathered: Happened) -> tuple[Happened, Happened]:
    """Return what goes into the next request, and what is left."""
    rest = _nothing()
    rest["events"] = gathered["events"][_MOST_EVENTS:]
    return {**gathered, "events": gathered["events"][:_MOST_EVENTS]}, rest
