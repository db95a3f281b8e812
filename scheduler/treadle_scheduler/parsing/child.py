"""One parse child: takes its job from a socket, runs the user's file, answers with one frame, and is gone.

Forked from ``zygote``; its user modules are its own. Whatever happens, it sends at most one frame: the result, the
error of the file, or the watchdog's word that the time is over. If it dies without one, the parent knows from its exit.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import threading
import time
from importlib.util import decode_source
from typing import Any, Final

from treadle_scheduler.parsing import isolation
from treadle_scheduler.parsing.collecting import FileFailed, Source, collect, error_of
from treadle_scheduler.parsing.config import ParseConfig
from treadle_scheduler.parsing.inputs import Inputs
from treadle_scheduler.parsing.watchdog import Watchdog, words_on
from treadle_worker.frames import FrameStream

TIMED_OUT: Final = 75
"""Exit code after the watchdog's report."""


def serve(descriptors: list[int], config: ParseConfig) -> None:
    """Parse the file that the first of ``descriptors`` names, with output to the second."""
    channel, output = socket.socket(fileno=descriptors[0]), descriptors[1]
    stream = FrameStream(channel)
    job = stream.receive()
    if job is None:
        return
    for fd in (1, 2):
        os.dup2(output, fd)
    os.close(output)
    answer = Answer(stream)
    answer.give(parse(job["file"], job["known"], config, answer))
    sys.stdout.flush()
    sys.stderr.flush()


class Answer:
    """The one frame that a child sends: whoever comes first, the main thread or the watchdog."""

    def __init__(self, stream: FrameStream | None) -> None:
        self._stream = stream
        self._taken = threading.Lock()

    def give(self, message: dict[str, Any]) -> None:
        """Send ``message``, unless an answer was given."""
        if self._taken.acquire(blocking=False) and self._stream is not None:
            self._stream.send({"kind": "parsed", **message})

    def time_is_over(self, line: int | None, stack: str) -> None:
        """Report the end of the file's time, and end the process under the main thread's feet."""
        self.give({"errors": [error_of("", line, stack, cause="timeout")]})
        os._exit(TIMED_OUT)


def parse(file: str, known: dict[str, str], config: ParseConfig, answer: Answer) -> dict[str, Any]:
    """Parse one file and return what there is to say. User code runs here."""
    path = os.path.join(config.dags_folder, file)
    began = time.monotonic()
    try:
        with open(path, "rb") as opened:
            state = os.fstat(opened.fileno())
            content = opened.read()
    except OSError as error:
        return {"errors": [error_of(f"{file}: cannot be read: {error.strerror}", None, "")], "seconds": 0.0}
    inputs = Inputs(config.dags_folder, path)
    inputs.watch()
    isolation.limit_memory(config.memory_mb * 1024 * 1024)
    watchdog = Watchdog(path, config.timeout_seconds, answer.time_is_over)
    watchdog.start()
    found = _collected(Source(file, path, content, config.dags_folder), known, config.cron_style)
    costs = watchdog.stop()
    isolation.spare_memory()
    seconds = time.monotonic() - began
    inputs.of_modules()
    return {
        **found,
        "seconds": round(seconds, 4),
        "slow": words_on(costs, seconds, file),
        "code": _decoded(content),
        "state": [state.st_mtime_ns, len(content), hashlib.sha256(content).hexdigest()],
        "inputs": inputs.usable(),
    }


def _collected(source: Source, known: dict[str, str], cron_style: str) -> dict[str, Any]:
    try:
        return collect(source, known, cron_style)
    except FileFailed as failed:
        return {"errors": [failed.error]}
    except MemoryError:
        return {"errors": [error_of("", None, "", cause="memory")]}


def _decoded(content: bytes) -> str:
    try:
        return decode_source(content)
    except (SyntaxError, UnicodeDecodeError):
        return ""
