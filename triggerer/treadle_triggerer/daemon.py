"""The triggerer: renews its lease, takes triggers to its loop, and carries what they bring to the server.

Called by ``main``. It holds the token and no other credential, and runs no user code. What was not reported when it
dies happens again elsewhere; a loop that blocks is ended with the one trigger that blocks it, and the others run on.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from treadle_triggerer.child import Child
from treadle_triggerer.reporting import Reporting
from treadle_triggerer.server import Server, ServerRefused, ServerUnavailable
from treadle_worker.frames import Message

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 2.0
"""How long the server may hold a beat until there is something new."""

CHECK_SECONDS: Final = 10.0
BLOCKED_SECONDS: Final = 10.0
"""How long a trigger may block the loop before it is failed, and the loop begun anew for the others."""

DEAF_SECONDS: Final = 30.0
"""After so long without a word a loop is begun anew, whatever holds it."""

_START_SECONDS: Final = 60.0
_ASKERS: Final = 4
_END_SECONDS: Final = 10.0
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0
_LONGEST_REST: Final = 60.0
_ASKED_ONCE: Final = frozenset({"start_callback", "of_callback"})
"""Questions whose answer may be an act: the server may have done it though we heard nothing."""


@dataclass(frozen=True, slots=True)
class Config:
    """Where the server is, what proves who we are, and how much weight of triggers is taken."""

    url: str
    token: str
    dags_folder: str
    capacity: int
    environment: Mapping[str, str]
    blocked_seconds: float = BLOCKED_SECONDS
    wait_seconds: float = WAIT_SECONDS


class Triggerer:
    """One triggerer: run until it is stopped."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._server = Server(config.url, config.token)
        self._process_id: str | None = None
        self._reporting = Reporting(self._server, lambda: self._process_id, self._tell_recorded)
        self._stopping = threading.Event()
        self._obeyed = threading.Event()
        self._askers = ThreadPoolExecutor(_ASKERS, thread_name_prefix="asker")
        self._child: Child | None = None
        self._ended: Child | None = None
        self._blocked: Message | None = None
        self._checked_at = time.monotonic()
        self._failures = 0
        self._false_starts = 0

    def stop(self) -> None:
        """End in order, soon; safe in a signal handler."""
        self._stopping.set()

    def run(self) -> None:
        """Run until stopped.

        Raises:
            ServerRefused: the token is no good, or this triggerer is too new for the server.
        """
        self._reporting.start()
        try:
            while not self._stopping.is_set():
                child = self._living_child()
                try:
                    self._beat(child)
                    self._failures = 0
                except ServerUnavailable as error:
                    self._failures += 1
                    # A server that starts at the same time as we do takes a while.
                    level = logging.INFO if self._process_id is None else logging.WARNING
                    log.log(level, "the server does not answer, trying again: %s", error)
                    self._stopping.wait(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(self._failures, 5)))
        finally:
            self._end()

    def _living_child(self) -> Child:
        """Return a loop that turns: the present one, or a new one if that is gone, deaf or blocked for too long."""
        child = self._child
        if child is not None and self._is_lost(child):
            self._replace(child)
            child = None
        if child is None:
            self._blocked = None
            child = self._child = Child(self._config.environment, self._config.dags_folder, self._heard)
            child.start()
            log.info("the loop runs in process %d", child.pid)
        return child

    def _replace(self, child: Child) -> None:
        """End a loop that is lost, and tell in whose code it died or hung, unless that one is failed already."""
        died = child is self._ended
        child.kill()
        child.end(_END_SECONDS)
        suspects = child.suspects() if died else child.suspects(of_loop=True) if self._blocked is None else []
        ending = child.ending() if died else "by the triggerer, since the loop did not turn any more"
        self._leave(suspects, ending)
        self._child = None
        self._rest(child, is_known=bool(suspects) or self._blocked is not None)

    def _rest(self, lost: Child, *, is_known: bool) -> None:
        """Wait, longer and longer, if loops end soon and nobody knows why: without beats we are no healthy one."""
        is_false = not lost.has_spoken or (not is_known and lost.age() < _LONGEST_REST)
        self._false_starts = self._false_starts + 1 if is_false else 0
        if self._false_starts:
            self._stopping.wait(min(_LONGEST_REST, 2.0 ** min(self._false_starts, 6)))

    def _is_lost(self, child: Child) -> bool:
        if child is self._ended:
            ids = ", ".join(map(str, child.suspects())) or "none"
            log.error("the loop's process ended by itself, in the code of these triggers: %s; it is begun anew", ids)
            return True
        blocked, silence = self._blocked, child.silence()
        if blocked is not None and silence > self._config.blocked_seconds:
            self._fail(blocked, silence)
            return True
        if silence > (DEAF_SECONDS if child.has_spoken else _START_SECONDS):
            log.error("the loop has said nothing for %.0f s; it is begun anew", silence)
            return True
        return False

    def _fail(self, blocked: Message, silence: float) -> None:
        """Fail the trigger that blocks the loop, and no other (case D9)."""
        sentence = f"it blocked the triggerer's loop for {silence:.0f} s, at {blocked['where']}"
        log.error("trigger %s (%s) is ended: %s", blocked["trigger"], blocked["classpath"], sentence)
        if blocked["trigger"]:
            event = {"id": blocked["trigger"], "kind": "failed", "error": sentence}
            self._reporting.add({"events": [event]})

    def _beat(self, child: Child) -> None:
        is_ready = child.has_spoken and self._blocked is None
        checks = is_ready and time.monotonic() - self._checked_at > CHECK_SECONDS
        answer = self._server.beat(
            {
                "process_id": self._process_id,
                "hostname": socket.gethostname(),
                "pid": os.getpid(),
                "capacity": self._config.capacity,
                "held": child.held,
                **self._trouble(),
                "takes": is_ready,
                "checks": checks,
                "wait": self._config.wait_seconds if is_ready else 0,
            }
        )
        known, self._process_id = self._process_id, answer["process_id"]
        if checks:
            self._checked_at = time.monotonic()
        if not is_ready:
            self._stopping.wait(0.1)
            return
        lost = known is not None and known != self._process_id
        if lost:
            log.warning("the lease of this triggerer had ended; what it ran is left to whoever took it")
        self._order(child, answer, drop_all=lost)

    def _order(self, child: Child, answer: Mapping[str, Any], *, drop_all: bool) -> None:
        """Hand the server's answer to the loop, and wait until it has taken it: what it holds is known then."""
        orders = {name: answer[name] for name in ("triggers", "files", "cancelled", "owned", "excess")}
        asks = any(orders[name] for name in ("triggers", "cancelled", "excess")) or orders["owned"] is not None
        if not (asks or drop_all):
            return
        self._obeyed.clear()
        if child.send({"kind": "orders", "drop_all": drop_all, **orders}):
            while not self._obeyed.wait(0.1):
                if child is self._ended or self._blocked is not None or self._stopping.is_set():
                    return

    def _trouble(self) -> dict[str, Any]:
        """Return what is wrong with the loop or what is to be reported just now, and which trigger it is about."""
        blocked = self._blocked
        if blocked is not None:
            sentence = f"trigger {blocked['trigger']} ({blocked['classpath']}) blocks the loop at {blocked['where']}"
            return {"trouble": sentence[:2000], "trouble_of": blocked["trigger"]}
        told = self._reporting.trouble()
        return {} if told is None else {"trouble": told[1], "trouble_of": told[0]}

    def _heard(self, child: Child, message: Message | None) -> None:
        """Take what the loop says; called in its listening thread."""
        if message is None:
            self._ended = child
            self._obeyed.set()
            return
        match message["kind"]:
            case "tick":
                self._blocked = None
            case "obeyed":
                self._obeyed.set()
            case "happened":
                self._reporting.add(message)
            case "ask":
                self._askers.submit(self._answer, child, message)
            case "blocked":
                self._blocked = message
                facts = (message["trigger"], message["classpath"], message["seconds"], message["where"])
                log.warning("trigger %s (%s) has blocked the loop for %.1f s, at %s", *facts)

    def _tell_recorded(self, numbers: list[int]) -> None:
        child = self._child
        if child is not None:
            child.send({"kind": "recorded", "numbers": numbers})

    def _answer(self, child: Child, question: Message) -> None:
        reply: Message = {"kind": "reply", "number": question["number"]}
        try:
            reply["result"] = self._asked(child, question)
        except (ServerUnavailable, ServerRefused) as error:
            reply["error"] = str(error)
        child.send(reply)

    def _asked(self, child: Child, question: Message) -> Any:
        """Ask until the server answers: no trigger fails because the server is restarted. Raises as ``ask`` does."""
        pause = _FIRST_PAUSE
        while True:
            body = {"process_id": self._process_id, "id": question["trigger"], "op": question["op"]}
            try:
                return self._server.ask({**body, "args": question["args"]})
            except ServerUnavailable:
                if question["op"] in _ASKED_ONCE or child is not self._child or self._stopping.wait(pause):
                    raise
            pause = min(_LONGEST_PAUSE, 2 * pause)

    def _leave(self, suspects: Sequence[int] = (), ending: str = "") -> None:
        """Free what we ran, once all that it brought is told: nothing of it is cancelled.

        ``suspects``: the triggers whose code ran when the loop's process died.
        """
        self._reporting.flush(_END_SECONDS)
        self._reporting.forget()
        process_id, self._process_id = self._process_id, None
        if process_id is not None:
            try:
                self._server.leave(process_id, suspects, ending)
            except (ServerUnavailable, ServerRefused) as error:
                log.warning("the server was not told that this triggerer stopped; its lease will end: %s", error)

    def _end(self) -> None:
        child = self._child
        if child is not None:
            child.send({"kind": "stop"})
            child.end(_END_SECONDS)
        self._leave()
        self._reporting.end(_END_SECONDS)
        self._askers.shutdown(wait=False, cancel_futures=True)
