"""Asks custom timetables: one warm process for each module, file or entry point, exec'ed without any credential.

``Evaluator`` is what the scheduler, the web server and the commands install (``treadle.timetables.remote.install``). An
answer that takes too long ends the process; the timetable that was asked gets its questions answered apart from then
on, so that others of the same file do not wait for it. A process whose file was edited is replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from treadle.document import ScheduleDocument
from treadle.errors import InvalidSchedule
from treadle.timetables.custom import split
from treadle.timetables.remote import install
from treadle_executors.environment import VARIABLES, scrubbed, secrets_of
from treadle_metadata.settings import Settings
from treadle_worker.system import hide_memory

Json = Any

ANSWER_SECONDS: Final = 5.0
"""Time limit of one answer."""

_MOST_PROCESSES: Final = 16
_LONGEST_LINE: Final = 4 * 1024 * 1024


class _Ended(Exception):
    """The process gave no answer; ``reason`` says why, ``died`` that it ended by itself or by somebody's hand."""

    def __init__(self, reason: str, *, died: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.died = reason, died


class TimetableProcess:
    """One process. Not for two threads at once: hold ``lock``."""

    def __init__(self, how: str, where: str, settings: Settings, answer_seconds: float) -> None:
        self.lock = threading.Lock()
        self.is_closed = False
        self._answer_seconds = answer_seconds
        start_seconds = settings.parse_timeout_seconds
        config = {
            "how": how,
            "where": where,
            "folder": str(settings.path("dags_folder")),
            "memory_mb": settings.parse_memory_mb,
            "start_seconds": start_seconds,
            "answer_seconds": answer_seconds,
        }
        # A command that asks holds credentials, too, and the child runs user code as the same user.
        hide_memory()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "treadle_worker.timetable_child", str(theirs.fileno()), json.dumps(config)],
                env=scrubbed(os.environ, secrets_of(settings), kept=(VARIABLES,)),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._socket, self._read = ours, bytearray()
        self._start_until: float | None = time.monotonic() + start_seconds

    def ask(self, question: Mapping[str, Json]) -> Json:
        """Return the answer's message. Raises ``_Ended`` if the process ends or does not answer in time."""
        try:
            if self._start_until is not None:
                started = self._receive(self._start_until, "was not loaded in time")
                self._start_until = None
                if "error" in started:
                    return {"unloaded": started["error"]}
            self._socket.sendall(json.dumps(question).encode() + b"\n")
            until = time.monotonic() + self._answer_seconds
            return self._receive(until, f"gave no answer in {self._answer_seconds:g} s")
        except OSError as error:
            raise _Ended(f"ended its process ({error})", died=True) from error

    def close(self) -> None:
        """End the process and all that it started."""
        self.is_closed = True
        self._socket.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _receive(self, until: float, reason: str) -> Json:
        while b"\n" not in self._read:
            left = until - time.monotonic()
            if left <= 0 or len(self._read) > _LONGEST_LINE:
                raise _Ended(reason)
            self._socket.settimeout(left)
            try:
                received = self._socket.recv(65536)
            except TimeoutError:
                raise _Ended(reason) from None
            if not received:
                raise _Ended("ended its process", died=True)
            self._read += received
        line, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        try:
            return json.loads(line)
        except ValueError:
            raise _Ended("gave no JSON") from None


@contextmanager
def evaluating(settings: Settings) -> Iterator[Evaluator]:
    """Let the custom timetables of this process be evaluated; no process starts before the first question."""
    evaluator = Evaluator(settings)
    install(evaluator)
    try:
        yield evaluator
    finally:
        install(None)
        evaluator.close()


class Evaluator:
    """Answers questions about custom timetables, from any thread. :meth:`close` ends its processes."""

    def __init__(self, settings: Settings, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        self.settings = settings
        self._answer_seconds = answer_seconds
        self._processes: OrderedDict[tuple[str, str, bool], TimetableProcess] = OrderedDict()
        self._apart: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def __call__(self, document: ScheduleDocument, question: Mapping[str, Json]) -> Json:
        """Return the answer to ``question``. Raises :class:`InvalidSchedule` if there is none."""
        how, where, qualified = split(document.custom)
        identity = (document.custom, document.data)
        asked = {**question, "qualified": qualified, "data": document.data}
        try:
            message = self._ask((how, where, identity in self._apart), asked)
        except _Ended as ended:
            self._apart.add(identity)
            raise InvalidSchedule("The custom timetable", document.summary, f"{ended.reason}.") from None
        if "error" in message:
            raise InvalidSchedule("The custom timetable", document.summary, f"failed: {message['error']}")
        self._apart.discard(identity)
        return message.get("ok")

    def pids(self) -> list[int]:
        """Return the pids of the processes there are."""
        with self._lock:
            return [one.pid for one in self._processes.values()]

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._is_closed = True
            processes = list(self._processes.values())
            self._processes.clear()
        for one in processes:
            one.close()

    def _ask(self, key: tuple[str, str, bool], asked: Mapping[str, Json]) -> Json:
        died_before = False
        while True:
            process = self._process(key)
            with process.lock:
                if process.is_closed:
                    continue
                try:
                    message = process.ask(asked)
                except _Ended as ended:
                    self._end(key, process)
                    if not ended.died or died_before:
                        raise
                    # It may have been killed for no fault of the timetable: once more, in a fresh one.
                    died_before = True
                    continue
                if "stale" not in message and "unloaded" not in message:
                    return message
                self._end(key, process)
                if "unloaded" in message:
                    return {"error": message["unloaded"]}

    def _process(self, key: tuple[str, str, bool]) -> TimetableProcess:
        with self._lock:
            if self._is_closed:
                raise _Ended("is asked no more, since this process ends")
            process = self._processes.get(key)
            if process is None:
                process = TimetableProcess(key[0], key[1], self.settings, self._answer_seconds)
                self._processes[key] = process
            self._processes.move_to_end(key)
            spare = [one for one, other in self._processes.items() if not other.lock.locked() and one != key]
            ended = [self._processes.pop(one) for one in spare[: max(0, len(self._processes) - _MOST_PROCESSES)]]
        for one in ended:
            with one.lock:
                one.close()
        return process

    def _end(self, key: tuple[str, str, bool], process: TimetableProcess) -> None:
        with self._lock:
            if self._processes.get(key) is process:
                del self._processes[key]
        process.close()
