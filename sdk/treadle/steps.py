"""Durable steps: what a task has done stays done when its attempt dies, and is replayed, not repeated.

``@task.step`` makes a function a step; ``step.run`` and ``with step(...)`` do the same for a call and a block. A step
is known by its name and its inputs, whatever the attempt: the same name with the same inputs is the same step. Its
value is what the journal holds, so the first call returns the same as each replay. Works under every executor.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from types import TracebackType
from typing import Any, Final

from treadle import xcom
from treadle.callables import Parameters, plain_function
from treadle.durable.journal import Journal, journal, suspend
from treadle.durable.retrying import TRANSIENT, StepRetries
from treadle.errors import AwakeableTimedOut, DagError, NotInTaskError, StepError, TaskEnd

MAX_BYTES: Final = 64 * 1024 * 1024
"""The largest value of a step, as text."""

MAX_NAME: Final = 250

_running: ContextVar[str | None] = ContextVar("treadle_running_step", default=None)


class StepFunction:
    """A function each call of which, within a task, is a durable step. Outside a task it is the plain function.

    ``name`` is its name in the journal (default: the function's). A failure of a class in ``retry_on`` (default:
    ``TransientError``, ``RateLimitedError``, ``ConnectionError``, ``TimeoutError``) is tried again ``retries`` times,
    after ``retry_delay`` seconds and ``backoff`` times as long each further time, at most ``max_delay``.

    Raises:
        DagError: it is no plain function.
        InvalidArgumentError: a number is negative.
    """

    __name__: str

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        retries: int = 3,
        retry_delay: float = 1.0,
        backoff: float = 2.0,
        max_delay: float = 60.0,
        retry_on: Sequence[type[BaseException]] = TRANSIENT,
    ) -> None:
        plain = plain_function(function)
        if plain is None:
            raise DagError(f"@task.step decorates functions, not {type(function).__name__}")
        functools.update_wrapper(self, function)
        self.durable_function = plain
        self.name = checked_name(name or plain.__name__)
        self._function = function
        self._parameters = Parameters(plain)
        self._retries = StepRetries(retries, retry_delay, backoff, max_delay, tuple(retry_on))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the recorded value, or do the step and record it.

        Raises:
            XComTypeError: an input, or the value, cannot be written down; names its path.
            StepPlanChangedError: the recorded steps are of other code.
        """
        found = journal()
        if found is None:
            return self._function(*args, **kwargs)
        inputs = inputs_of(self._named(args, kwargs))
        return _done(found, self.name, inputs, lambda: self._function(*args, **kwargs), self._retries)

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the arguments so that it does not matter how they were given: by place, by name or by default."""
        given = self._parameters.bound(args, kwargs)
        return [sorted(given.items()), list(args[len(self._parameters.positional) :])]

    def __repr__(self) -> str:
        return f"<step {self.name!r}>"


class StepBlock:
    """What ``with step(name, ...) as one`` gives: ``recorded`` tells that it is done, ``value`` what it came to.

    The block runs on each attempt; do the effect only ``if not one.recorded``, and ``record`` what it came to. A block
    that ends without an error and without a record is recorded with None.
    """

    def __init__(self, name: str, inputs: Sequence[Any]) -> None:
        self.name = checked_name(name)
        self._inputs = inputs_of(list(inputs))
        self._journal: Journal | None = None
        self.recorded = False
        self.value: Any = None
        self.idempotency_key = ""

    def record(self, value: Any) -> None:
        """Record what the step came to, for good; ``value`` is then what the journal holds."""
        if self._journal is None or self.recorded:
            raise StepError(f"step {self.name!r} is recorded already, or its block is not entered")
        self._take(self._journal.record(self.name, self._inputs, _text(self.name, value)))

    def _take(self, text: str) -> None:
        self.recorded, self.value = True, xcom.loads(text)

    def __enter__(self) -> StepBlock:
        self._journal = _needed(journal(), "with step(...)")
        self.idempotency_key = self._journal.key_of(self.name, self._inputs)
        text = self._journal.find(self.name, self._inputs)
        if text is not None:
            self._take(text)
        self._token = _running.set(self.idempotency_key)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _running.reset(self._token)
        if kind is None and not self.recorded:
            self.record(None)
        if self._journal is not None and isinstance(error, Exception) and not isinstance(error, TaskEnd):
            self._journal.note_failure(self.name, self._inputs, 1, error, None)


class Awakeable:
    """A wait for an outside party: whoever posts ``token`` before ``deadline`` (ISO 8601) ends it, once."""

    def __init__(self, found: Journal, name: str, inputs: str, seconds: float) -> None:
        self._journal, self._name, self._inputs, self._seconds = found, name, inputs, seconds
        state = self._ask()
        self.token: str = state["token"]
        self.deadline: str = state["due_at"]

    def wait(self) -> Any:
        """Return what was posted. Until then the attempt is suspended: it holds no slot, and this never returns.

        Raises:
            AwakeableTimedOut: nobody posted it in time.
        """
        state = self._ask()
        if state["state"] == "waiting":
            raise suspend(self._name, self._inputs, state["due_at"])
        if state["state"] == "timed_out":
            raise AwakeableTimedOut(self._name, state["due_at"])
        return json.loads(state["value"])

    def _ask(self) -> dict[str, Any]:
        return self._journal.wait("awakeable", self._name, self._inputs, self._seconds)


class Steps:
    """``step``: durable steps of the task that runs now."""

    def __call__(self, name: str, /, *inputs: Any) -> StepBlock:
        """Return a block that is a step: ``with step("charge", order_id) as charge``; see :class:`StepBlock`."""
        return StepBlock(name, inputs)

    def run(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call ``function`` as the step ``name``, with these arguments as its inputs, and return its value."""
        return StepFunction(_called(function), name=name)(*args, **kwargs)

    @property
    def idempotency_key(self) -> str:
        """The key of the step that runs now, for calls to the outside world: equal on every re-entry of the step.

        Raises:
            NotInTaskError: no step runs here.
        """
        key = _running.get()
        if key is None:
            raise NotInTaskError("step.idempotency_key")
        return key

    def sleep(self, name: str, duration: timedelta | float) -> None:
        """Wait without holding a slot: the attempt ends here, and a new one goes on after ``duration`` (seconds).

        How long is recorded at the first call; each later attempt goes by that.
        """
        found, inputs = _needed(journal(), "step.sleep()"), inputs_of([])
        state = found.wait("sleep", checked_name(name), inputs, _seconds(duration))
        if state["state"] == "waiting":
            raise suspend(name, inputs, state["due_at"])

    def awakeable(self, name: str, ttl: timedelta | float) -> Awakeable:
        """Return a wait for an outside party that may post its token for ``ttl`` (seconds) from the first call on."""
        found = _needed(journal(), "step.awakeable()")
        return Awakeable(found, checked_name(name), inputs_of([]), _seconds(ttl))


step = Steps()
"""Durable steps of the running task: ``step.run``, ``with step(...)``, ``step.sleep``, ``step.awakeable``."""


def checked_name(name: str) -> str:
    """Return the name of a step.

    Raises:
        StepError: it is no text of 1 to 250 characters.
    """
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or "\0" in name:
        raise StepError(f"a step cannot be named {name!r:.300}: expected a text of 1 to {MAX_NAME} characters")
    return name


def inputs_of(values: list[Any]) -> str:
    """Return the hash of a step's inputs."""
    text, _ = xcom.dumps(values, key="inputs of a step")
    return hashlib.sha256(text.encode()).hexdigest()


def _done(found: Journal, name: str, inputs: str, call: Callable[[], Any], retries: StepRetries) -> Any:
    text = found.find(name, inputs)
    if text is None:
        with _marked(found.key_of(name, inputs)):
            value = retries.call(name, call, functools.partial(found.note_failure, name, inputs))
        text = found.record(name, inputs, _text(name, value))
    return xcom.loads(text)


@contextmanager
def _marked(key: str) -> Iterator[None]:
    token = _running.set(key)
    try:
        yield
    finally:
        _running.reset(token)


def _text(name: str, value: Any) -> str:
    return xcom.dumps(value, key=f"value of step {name}", max_bytes=MAX_BYTES)[0]


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain function for any callable; the parameters of a plain one keep their names and defaults."""
    if isinstance(function, StepFunction):
        return function.durable_function
    if plain_function(function) is not None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def _needed(found: Journal | None, act: str) -> Journal:
    if found is None:
        raise NotInTaskError(act)
    return found


def _seconds(duration: timedelta | float) -> float:
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not 0 <= seconds < 100 * 366 * 86400:
        raise StepError(f"a step cannot wait {duration!r}: expected seconds or a timedelta, from 0 to 100 years")
    return seconds
