"""The pool's handle on the parse zygote: starts it, hands on orders and reports, and starts another when it ends.

One that had worked is replaced at once; while none gets as far as to work (half an upgrade, no memory) the waits grow,
so that neither the machine nor the log is filled. Each end is one line of the log; all that it wrote is there at DEBUG.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from treadle_scheduler.parsing.config import ParseConfig
from treadle_worker.event_loop import EventLoop
from treadle_worker.fork_server import ForkServer

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 30.0

_KEPT_WORDS: Final = 16 * 1024
_SECONDS_TO_END: Final = 3.0


class ZygoteProcess:
    """One zygote at a time.

    ``on_report`` gets what it reports, ``on_lost`` is called when it has ended, ``on_restarted`` once another is there.
    """

    def __init__(
        self,
        loop: EventLoop,
        config: ParseConfig,
        environment: Mapping[str, str],
        *,
        on_report: Callable[[dict[str, Any]], None],
        on_lost: Callable[[], None],
        on_restarted: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._config = config
        self._environment = environment
        self._on_report = on_report
        self._on_lost = on_lost
        self._on_restarted = on_restarted
        self._failures = 0
        self._closed = False
        self._start()

    @property
    def running(self) -> bool:
        """Whether it takes orders."""
        return not self._server.closed

    def order(self, number: int, descriptors: list[int]) -> None:
        """Have a child forked that is given ``descriptors``; they are closed here."""
        self._server.order({"do": "child", "spawn": number}, descriptors)

    def close(self) -> None:
        """End it: it kills what it forked."""
        self._closed = True
        self._server.close()
        self._wait()

    def _start(self) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = self._started(theirs)
        except OSError:
            mine.close()
            raise
        finally:
            theirs.close()
        assert self._process.stderr is not None
        self._stderr = self._process.stderr
        os.set_blocking(self._stderr.fileno(), False)
        self._words = b""
        self._worked = False
        self._loop.watch(self._stderr.fileno(), self._take_words)
        self._server = ForkServer(self._loop, mine, self._reported, self._ended)

    def _started(self, control: socket.socket) -> subprocess.Popen[bytes]:
        fd = control.fileno()
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "treadle_scheduler.parsing.zygote", str(fd), self._config.to_text()],
            pass_fds=(fd,),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    def _restart(self) -> None:
        if self._closed:
            return
        try:
            self._start()
        except OSError as error:
            self._failures += 1
            self._try_later(f"cannot be started: {error.strerror}")
        else:
            self._on_restarted()

    def _take_words(self, _: int) -> None:
        data = self._stderr.read(_KEPT_WORDS)
        if data:
            self._words = (self._words + data)[-_KEPT_WORDS:]
        elif data is not None:
            self._loop.forget(self._stderr.fileno())

    def _reported(self, report: dict[str, Any]) -> None:
        self._worked = True
        self._on_report(report)

    def _ended(self) -> None:
        self._take_words(0)
        self._wait()
        words = self._words.decode("utf-8", "backslashreplace").strip()
        if words:
            log.debug("the parse zygote wrote:\n%s", words)
        self._failures = 0 if self._worked else self._failures + 1
        self._try_later(": ".join([f"ended (exit code {self._process.returncode}", *words.splitlines()[-1:]]) + ")")
        self._on_lost()

    def _try_later(self, what: str) -> None:
        wait = wait_before(self._failures)
        log.error("the parse zygote %s; starting another in %g s", what, wait)
        self._loop.later(wait, self._restart)

    def _wait(self) -> None:
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if not self._stderr.closed:
            self._loop.forget(self._stderr.fileno())
            self._stderr.close()


def wait_before(failures: int) -> float:
    """Return how long to wait, in seconds, before the next start after so many in a row that came to nothing."""
    if failures == 0:
        return 0.0
    return min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** min(failures - 1, 20))
