"""Where attempts run: one template per DAG file version, and its children.

The pool forks a template from the zygote at the first attempt of a file version and keeps the most recently used ones.
An attempt of its own process gets a fresh child at once, which then waits for ``go``; attempts that share children
wait, once accepted, for an idle child, and a new child is forked only when there is none or the wait was noticeable.
"""

from __future__ import annotations

import itertools
import os
import socket
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, Protocol

from treadle_worker.attempts import Attempt
from treadle_worker.event_loop import EventLoop, Timer
from treadle_worker.fork_server import ForkServer
from treadle_worker.outcomes import Exit
from treadle_worker.protocol import ErrorKind
from treadle_worker.runner import Owner, Runner

Key = tuple[str, str]
SHARED_BATCH: Final = 100
"""Attempts that a shared child may run when ``tasks_per_child`` says no more."""

_PATIENCE_SECONDS: Final = 0.003
"""How long accepted attempts wait for an idle shared child before another is forked; a fork costs about as much."""

_FORKS_AT_ONCE: Final = 4


class State(StrEnum):
    """What a template is good for."""

    IMPORTING = "importing"
    READY = "ready"
    BARE = "bare"
    """Its file leaves threads running: each attempt imports it in a child of the zygote."""
    OVER = "over"


class Host(Owner, Protocol):
    """What the pool needs of the host."""

    limits: dict[str, Any]

    def failed(self, attempt: Attempt, kind: ErrorKind, name: str, message: str, traceback: str | None = None) -> None:
        """The attempt cannot run or its process is lost."""


class Template:
    """One DAG file version: the process that has it imported, and that process's children."""

    def __init__(self, pool: TemplatePool, key: Key) -> None:
        self._pool = pool
        self.key = key
        self.state = State.IMPORTING
        self.pid: int | None = None
        self.superseded = False
        self.runners: dict[int, Runner] = {}
        self._by_pid: dict[int, Runner] = {}
        self._pending: list[Attempt] = []
        self._accepted: deque[Attempt] = deque()
        self._idle: list[Runner] = []
        self._starting = 0
        self._hurry: Timer | None = None
        self.server: ForkServer | None = None
        self.limit: Timer | None = None

    @property
    def busy(self) -> bool:
        """Whether it has children or attempts."""
        return bool(self.runners or self._pending or self._accepted)

    def add(self, attempt: Attempt) -> None:
        """Take an attempt; it gets a child as soon as there may be one."""
        if self.state is State.IMPORTING:
            self._pending.append(attempt)
        elif not attempt.shared:
            runner = self._fork()
            runner.give(attempt, go=attempt.accepted, last=True, limits=self._pool.host.limits)
        elif attempt.accepted:
            self.accepted(attempt)

    def accepted(self, attempt: Attempt) -> None:
        """The server lets ``attempt`` run."""
        if attempt.runner is not None:
            attempt.runner.go()
        elif attempt.shared and self.state in (State.READY, State.BARE):
            self._accepted.append(attempt)
            self._match()

    def withdraw(self, attempt: Attempt) -> None:
        """Forget an attempt that has no child yet."""
        if attempt in self._pending:
            self._pending.remove(attempt)
        if attempt in self._accepted:
            self._accepted.remove(attempt)

    def ready(self, state: State) -> None:
        """The import is done; start what waited for it."""
        self.state = state
        if self.limit is not None:
            self.limit.cancel()
        pending, self._pending = self._pending, []
        for attempt in pending:
            self.add(attempt)

    def give_up(self) -> list[Attempt]:
        """Return the attempts that now cannot run here, and forget them."""
        self.state = State.OVER
        if self.limit is not None:
            self.limit.cancel()
        stranded = [*self._pending, *self._accepted]
        self._pending.clear()
        self._accepted.clear()
        return stranded

    def _fork(self) -> Runner:
        pool = self._pool
        runner = Runner(pool.loop, pool.host, next(pool.numbers))
        runner.bare = self.state is State.BARE
        self.runners[runner.number] = runner
        pool.runners[runner.number] = (self, runner)
        server = pool.zygote if runner.bare else self.server
        assert server is not None
        server.order({"do": "child", "spawn": runner.number}, runner.open())
        return runner

    def _match(self) -> None:
        while self._accepted and self._idle:
            self._start(self._idle.pop(), self._accepted.popleft())
        if not self._accepted:
            return
        if len(self.runners) == 0:
            self._fork_shared(1)
        if self._hurry is None:
            self._hurry = self._pool.loop.later(_PATIENCE_SECONDS, self._waited)

    def _waited(self) -> None:
        self._hurry = None
        self._fork_shared(min(len(self._accepted) - self._starting, _FORKS_AT_ONCE - self._starting))
        self._match()

    def _fork_shared(self, count: int) -> None:
        for _ in range(count):
            self._starting += 1
            self._fork()

    def _start(self, runner: Runner, attempt: Attempt) -> None:
        last = runner.runs + 1 >= self._pool.batch
        runner.give(attempt, go=True, last=last, limits=self._pool.host.limits)
        if last:
            runner.leaving = True

    def free(self, runner: Runner) -> None:
        """A shared child has reported; give it more to do, or let it go."""
        if runner.leaving:
            return
        runner.idle_since = self._pool.loop.now()
        self._idle.append(runner)
        self._match()
        self._pool.let_go_of_superseded(self)

    def forked(self, runner: Runner, pid: int) -> None:
        """A fork succeeded."""
        self._by_pid[pid] = runner
        runner.forked(pid)
        if runner.attempt is None and runner.runs == 0:
            self._starting -= 1
            self._idle.append(runner)
            self._match()

    def remove(self, runner: Runner) -> None:
        """A child is gone, or never came to be."""
        if runner.pid is None and runner.runs == 0:
            self._starting -= 1
        self.runners.pop(runner.number, None)
        self._pool.runners.pop(runner.number, None)
        if runner.pid is not None:
            self._by_pid.pop(runner.pid, None)
        if runner in self._idle:
            self._idle.remove(runner)
        if self._accepted:
            self._match()
        self._pool.let_go_of_superseded(self)

    def dismiss_idle(self, before: float) -> None:
        """Let shared children go that have been idle since before ``before``."""
        for runner in [one for one in self._idle if one.idle_since < before]:
            self._idle.remove(runner)
            runner.dismiss()
