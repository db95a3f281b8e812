"""One template: the process that has a DAG file version imported, and that process's task children.

The pool makes templates and tells them what their process reports. An attempt of its own process gets a fresh child
at once, which then waits for ``go``. Attempts that share children wait, once accepted, for an idle child; a new one is
forked when there is none, or when the wait grew noticeable. Nothing here survives the host.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import Any, Final, Protocol

from treadle_worker.attempts import Attempt
from treadle_worker.event_loop import EventLoop, Timer
from treadle_worker.fork_server import ForkServer
from treadle_worker.runner import Runner

Key = tuple[str, str]
"""A DAG file, relative to the dags folder, and the hash of its text."""

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


class Pool(Protocol):
    """What a template needs of its pool."""

    loop: EventLoop
    batch: int
    limits: dict[str, Any]

    def fork(self, template: Template) -> Runner:
        """Order a child from the template's process, or from the zygote when the template is bare."""


class Template:
    """A DAG file version's process, its children, and the attempts that wait for one."""

    def __init__(self, pool: Pool, key: Key, number: int) -> None:
        self._pool = pool
        self.key = key
        self.number = number
        self.state = State.IMPORTING
        self.server: ForkServer | None = None
        self.pid: int | None = None
        self.limit: Timer | None = None
        self.overtime = False
        self.superseded = False
        self.is_stored = False
        self.code_hash: str | None = None
        self.dismissed = False
        self.runners: dict[int, Runner] = {}
        self._importing: list[Attempt] = []
        self._accepted: deque[Attempt] = deque()
        self._idle: list[Runner] = []
        self._starting: set[Runner] = set()
        self._hurry: Timer | None = None

    @property
    def busy(self) -> bool:
        """Whether an attempt needs it."""
        return bool(self._importing or self._accepted) or len(self.runners) > len(self._idle)

    def add(self, attempt: Attempt) -> None:
        """Take an attempt; it gets a child as soon as it may have one."""
        attempt.template = self
        if self.state is State.IMPORTING:
            self._importing.append(attempt)
        elif not attempt.shared:
            self._give(self._pool.fork(self), attempt, last=True)
        elif attempt.accepted:
            self.accepted(attempt)

    def accepted(self, attempt: Attempt) -> None:
        """The server lets ``attempt`` run."""
        if attempt.runner is not None:
            attempt.runner.go(attempt.begin_by)
        elif attempt.shared and self.state is not State.IMPORTING:
            self._accepted.append(attempt)
            self._match()

    def withdraw(self, attempt: Attempt) -> None:
        """Forget an attempt that has no child yet."""
        if attempt in self._importing:
            self._importing.remove(attempt)
        if attempt in self._accepted:
            self._accepted.remove(attempt)

    def begin(self, state: State) -> None:
        """The import is done; start what waited for it."""
        self.state = state
        self._cancel_limit()
        importing, self._importing = self._importing, []
        for attempt in importing:
            self.add(attempt)

    def give_up(self) -> list[Attempt]:
        """Take no more attempts; return those that now need another template."""
        self.state = State.OVER
        self._cancel_limit()
        stranded = [*self._importing, *self._accepted]
        self._importing.clear()
        self._accepted.clear()
        return stranded

    def _cancel_limit(self) -> None:
        if self.limit is not None:
            self.limit.cancel()

    def _give(self, runner: Runner, attempt: Attempt, *, last: bool) -> None:
        runner.give(attempt, go=attempt.accepted, last=last, limits=self._pool.limits)

    def _match(self) -> None:
        while self._accepted and self._idle:
            runner = self._idle.pop()
            self._give(runner, self._accepted.popleft(), last=runner.runs + 1 >= self._pool.batch)
        if not self._accepted:
            return
        if not self.runners:
            self._fork_shared(1)
        if self._hurry is None:
            self._hurry = self._pool.loop.later(_PATIENCE_SECONDS, self._waited)

    def _waited(self) -> None:
        self._hurry = None
        if self.state is State.OVER:
            return
        starting = len(self._starting)
        self._fork_shared(min(len(self._accepted), _FORKS_AT_ONCE) - starting)
        self._match()

    def _fork_shared(self, count: int) -> None:
        for _ in range(count):
            self._starting.add(self._pool.fork(self))

    def forked(self, runner: Runner, pid: int) -> None:
        """A child exists; one that shares gets its first attempt only now, so that an idle one may be faster."""
        runner.forked(pid)
        if runner in self._starting:
            self._starting.discard(runner)
            self.free(runner)

    def free(self, runner: Runner) -> None:
        """A shared child has nothing to do: give it an attempt, or keep it for a while."""
        if not runner.leaving and not runner.last:
            runner.idle_since = self._pool.loop.now()
            self._idle.append(runner)
            self._match()

    def remove(self, runner: Runner) -> None:
        """A child is gone, or never came to be."""
        self.runners.pop(runner.number, None)
        self._starting.discard(runner)
        if runner in self._idle:
            self._idle.remove(runner)
        if self.state is not State.OVER:
            self._match()

    def dismiss_idle(self, before: float) -> None:
        """Let shared children go that have been idle since before ``before``."""
        for runner in [one for one in self._idle if one.idle_since < before]:
            self._idle.remove(runner)
            runner.dismiss()
