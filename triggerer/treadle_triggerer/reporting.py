"""Carries to the server what happened to triggers: in order, whatever gathered in one request, again until it is told.

Used by ``daemon``; one thread. A report that the server refuses is sent in its parts, so that one bad part holds up
no other; an event that cannot be stored fails its own trigger.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from treadle_triggerer.server import Server, ServerRefused, ServerUnavailable

log = logging.getLogger(__name__)

Happened = dict[str, list[Any]]

_KINDS: Final = ("logs", "events", "given_back", "cancelled")
MOST_TEXT: Final = 16 * 1024 * 1024
"""Characters of what triggers log that may wait for the server; more is left out, and that is said."""

_MOST_EVENTS: Final = 1000
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0


class Reporting:
    """What is on its way. ``process_id`` gives the id under which the server knows this triggerer.

    ``on_recorded`` gets the numbers of events that have one, once the server has them.
    """

    def __init__(
        self, server: Server, process_id: Callable[[], str | None], on_recorded: Callable[[list[int]], None]
    ) -> None:
        self._server = server
        self._on_recorded = on_recorded
        self._process_id = process_id
        self._gathered: Happened = _nothing()
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

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or any(self._gathered.values()))
                if self._stopping:
                    return
                batch, self._gathered = _split(self._gathered)
                self._text, self._is_leaving_out = 0, False
                self._is_sending = True
            try:
                self._send(batch)
            except Exception:
                # Without this thread no event would ever reach the server.
                log.exception("events could not be reported")
            with self._changed:
                self._is_sending = False
                self._changed.notify_all()

    def _send(self, batch: Happened) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping:
            try:
                self._server.record({"process_id": self._process_id(), **batch})
            except ServerUnavailable as error:
                log.warning("events cannot be reported yet: %s", error)
                time.sleep(pause)
                pause = min(_LONGEST_PAUSE, 2 * pause)
            except ServerRefused as error:
                self._send_apart(batch, error)
                return
            else:
                numbers = [event["number"] for event in batch["events"] if "number" in event]
                if numbers:
                    self._on_recorded(numbers)
                return

    def _send_apart(self, batch: Happened, error: ServerRefused) -> None:
        parts = [(kind, one) for kind in _KINDS for one in batch[kind]]
        if len(parts) > 1:
            for kind, one in parts:
                self._send({**_nothing(), kind: [one]})
            return
        kind, one = parts[0]
        log.error("%s", error)
        if kind == "events" and one["kind"] != "failed":
            failed = {"id": one["id"], "kind": "failed", "error": f"its event could not be stored: {error}"}
            self._send({**_nothing(), "events": [failed]})


def _nothing() -> Happened:
    return {kind: [] for kind in _KINDS}


def _split(gathered: Happened) -> tuple[Happened, Happened]:
    """Return what goes into the next request, and what is left."""
    rest = _nothing()
    rest["events"] = gathered["events"][_MOST_EVENTS:]
    return {**gathered, "events": gathered["events"][:_MOST_EVENTS]}, rest
