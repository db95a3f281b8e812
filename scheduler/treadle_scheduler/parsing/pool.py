"""The parse children: at most so many at once, each forked from the zygote, each watched to its end.

The daemon asks for the next file whenever a child has ended. A child that overruns its time or starts too many
processes is killed with its process group. If the zygote itself dies, its files are tried again with the next one.
"""

from __future__ import annotations

import itertools
import logging
import signal
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from treadle_scheduler.parsing.config import ParseConfig
from treadle_scheduler.parsing.failures import Cause
from treadle_scheduler.parsing.isolation import sizes_of_trees
from treadle_scheduler.parsing.job import Job
from treadle_scheduler.parsing.zygote_process import ZygoteProcess
from treadle_worker.event_loop import EventLoop

log = logging.getLogger(__name__)

MOST_PROCESSES: Final = 200
"""Processes that one file may have at once."""

GRACE_SECONDS: Final = 1.0
"""How much later than the child's own watchdog the pool kills it."""

_COUNT_SECONDS: Final = 0.1
_TRIES: Final = 2

NextFile = Callable[[], tuple[str, Mapping[str, str]] | None]


class Pool:
    """Parses files. ``next_file`` names one and its DAGs' known digests; ``on_end`` gets each job when it is closed."""

    def __init__(
        self,
        loop: EventLoop,
        config: ParseConfig,
        environment: Mapping[str, str],
        *,
        most: int,
        next_file: NextFile,
        on_end: Callable[[Job], None],
    ) -> None:
        self._loop = loop
        self._config = config
        self._most = most
        self._next_file = next_file
        self._on_end = on_end
        self._numbers = itertools.count(1)
        self._jobs: dict[int, Job] = {}
        self._waiting: deque[str] = deque()
        """Files to be tried again, before others."""
        self._tried: dict[str, int] = {}
        self._counting = False
        self._closed = False
        self._zygote = ZygoteProcess(
            loop,
            config,
            # With one hash seed for all children, a set of texts has one order (cases B11, G3).
            {**environment, "PYTHONHASHSEED": "0"},
            on_report=self._heard,
            on_lost=self._lost,
            on_restarted=self.feed,
        )

    @property
    def busy(self) -> int:
        """How many files are being parsed, or are to be parsed again."""
        return len(self._jobs) + len(self._waiting)

    def feed(self) -> None:
        """Start children for as many files as there is room for."""
        while len(self._jobs) < self._most and self._zygote.running and not self._closed:
            following = (self._waiting.popleft(), {}) if self._waiting else self._next_file()
            if following is None:
                return
            self._begin(*following)

    def close(self) -> None:
        """Kill the children and end the zygote."""
        self._closed = True
        for job in list(self._jobs.values()):
            job.kill(Cause.TIMEOUT)
            job.close()
        self._jobs.clear()
        self._zygote.close()

    def _begin(self, file: str, known: Mapping[str, str]) -> None:
        job = Job(self._loop, next(self._numbers), file, known)
        self._jobs[job.number] = job
        self._zygote.order(job.number, job.descriptors)

    def _heard(self, report: dict[str, Any]) -> None:
        if "spawned" in report:
            self._spawned(report["spawned"], report["pid"])
        elif "unforked" in report:
            log.warning("no process for parsing: %s; trying again in a second", report["reason"])
            job = self._jobs[report["unforked"]]
            self._loop.later(1.0, lambda: self._again(job))
        else:
            for pid, status, _, _ in report["exited"]:
                for job in [one for one in self._jobs.values() if one.pid == pid]:
                    job.status = status
                    self._end(job)

    def _spawned(self, number: int, pid: int) -> None:
        job = self._jobs[number]
        job.pid = pid
        # Counted from here: the zygote itself may still have been starting.
        job.began = self._loop.now()
        seconds = self._config.timeout_seconds + GRACE_SECONDS
        job.limit = self._loop.later(seconds, lambda: job.kill(Cause.TIMEOUT))
        if not self._counting:
            self._counting = True
            self._loop.later(_COUNT_SECONDS, self._count)

    def _count(self) -> None:
        """Count the processes of files that take their time; short parses are over before they are looked at."""
        now = self._loop.now()
        long = [job for job in self._jobs.values() if job.pid is not None and now - job.began >= _COUNT_SECONDS]
        sizes = sizes_of_trees([job.pid for job in long if job.pid is not None]) if long else {}
        for job in long:
            if job.pid is not None and sizes[job.pid] > MOST_PROCESSES:
                job.kill(Cause.PROCESSES)
        self._counting = bool(self._jobs)
        if self._counting:
            self._loop.later(_COUNT_SECONDS, self._count)

    def _end(self, job: Job) -> None:
        self._jobs.pop(job.number, None)
        self._tried.pop(job.file, None)
        job.close()
        self._on_end(job)
        self.feed()

    def _again(self, job: Job) -> None:
        if self._jobs.pop(job.number, None) is None or self._closed:
            return
        job.close()
        self._waiting.append(job.file)
        self.feed()

    def _lost(self) -> None:
        """The zygote has ended; a file that was being parsed when two of them did has an error."""
        jobs, self._jobs = list(self._jobs.values()), {}
        for job in jobs:
            # A file whose child was not forked yet has no part in it.
            tried = self._tried[job.file] = self._tried.get(job.file, 0) + (job.pid is not None)
            if tried < _TRIES:
                job.close()
                self._waiting.append(job.file)
            else:
                job.status = signal.SIGKILL
                self._end(job)
