"""The journal of the attempt that runs now: what earlier attempts recorded, and what this one adds.

Read once when the first step is met; each step that is done is recorded, and committed by the server, before the task
goes on. A crash between a step's effect and its record repeats that one step, with the same idempotency key.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from treadle.durable.keys import idempotency_key
from treadle.durable.plan import code_version
from treadle.errors import StepError, StepPlanChangedError, StepSuspended
from treadle.runtime import current, masking
from treadle.runtime.supervisor import Supervisor

log = logging.getLogger("treadle.task")

_LONGEST_TYPE: Final = 250


class Journal:
    """The recorded steps of one task instance. Threads of the task may share it."""

    def __init__(self, supervisor: Supervisor, context: Any, conn_id: str | None) -> None:
        ti = context["ti"]
        self.context = context
        self._supervisor = supervisor
        self._of = f"{ti.task_id}[{ti.map_index}]"
        plan = code_version(ti.task)
        found = supervisor.open_journal(self._of, plan, conn_id)
        if found.get("plan", plan) != plan:
            raise StepPlanChangedError(f"task {ti.task_id!r} of run {ti.run_id!r}", found["plan"], plan)
        self._plan = plan
        self._is_pinned = "plan" in found
        """Whether the journal is known to be of this code; one that came with the attempt's start is not, yet."""
        self._id: str = found["id"]
        self.commit: dict[str, Any] | None = found.get("commit")
        """By what a transaction can carry the attempt's end (``treadle.durable.targets``); an old server has none."""
        self.is_new = bool(found.get("is_new"))
        """Whether no attempt before this one can have used its keys; an old server does not say."""
        self._held: list[dict[str, str]] | None = None
        self._recorded: dict[tuple[str, str], str | None] = {
            (one["name"], one["inputs"]): one["value"] for one in found["steps"]
        }

    def key_of(self, name: str, inputs: str) -> str:
        """Return the idempotency key of a step: the same in each attempt, another after a clear."""
        return idempotency_key(self._id, name, inputs)

    def find(self, name: str, inputs: str) -> str | None:
        """Return the recorded text of a step, None if it is not done."""
        if (name, inputs) not in self._recorded:
            return None
        value = self._recorded[name, inputs]
        return self._supervisor.read_step(self._of, {"name": name, "inputs": inputs}) if value is None else value

    def record(self, name: str, inputs: str, text: str) -> str:
        """Record the text of a step for good; return what is recorded: another's, if that was first."""
        self._pin()
        if self._held is not None:
            self._held.append({"name": name, "inputs": inputs, "value": text})
            self._recorded[name, inputs] = text
            return text
        there = self._supervisor.record_step(self._of, {"name": name, "inputs": inputs, "value": text})
        value = text if there is None else there
        self._recorded[name, inputs] = value
        return value

    def _pin(self) -> None:
        """Say of which code the steps are, before there is one."""
        if self._is_pinned:
            return
        found = self._supervisor.open_journal(self._of, self._plan)
        if found["id"] != self._id:
            raise StepError(
                "the journal of this attempt was discarded meanwhile: no step can be recorded in it any more"
            )
        self._is_pinned = True

    def note_failure(self, name: str, inputs: str, tried: int, error: BaseException, wait: float | None) -> None:
        """Record that a try of a step failed: evidence, whose loss does not end the task."""
        failure = {
            "name": name,
            "inputs": inputs,
            "try": tried,
            "error_type": type(error).__name__[:_LONGEST_TYPE],
            "message": masking.mask(_message(error)),
            "wait": wait,
        }
        try:
            self._supervisor.record_step_failure(self._of, failure)
        except Exception as problem:
            log.warning("that step %r failed could not be recorded: %s", name, problem)

    @contextmanager
    def held(self) -> Iterator[list[dict[str, str]]]:
        """Keep what is recorded meanwhile in the list that is given: it is to commit with a transaction, or not."""
        before, self._held = dict(self._recorded), []
        try:
            yield self._held
        except BaseException:
            self._recorded = before
            raise
        finally:
            self._held = None

    def wait(self, kind: str, name: str, inputs: str, seconds: float) -> dict[str, Any]:
        """Begin a wait, or look at the one that is under way."""
        if self._held is not None:
            raise StepError(f"step {name!r} cannot wait within a transaction: its locks would wait with it")
        self._pin()
        asked = {"kind": kind, "name": name, "inputs": inputs, "seconds": seconds}
        return self._supervisor.wait_for_step(self._of, asked)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # user code: __str__ may do anything
        return f"{type(error).__name__} without a message: {type(second).__name__}"


def suspend(name: str, inputs: str, due_at: str) -> StepSuspended:
    """Return what to raise in order to wait without holding a slot."""
    return StepSuspended({"at": due_at, "name": name, "inputs": inputs})


_lock = threading.Lock()
_open: list[Journal] = []


def journal(conn_id: str | None = None) -> Journal | None:
    """Return the journal of the running attempt, opened by the first step; None outside a task.

    Whoever needs connection ``conn_id`` next gets it from the server along with the journal.

    Raises:
        StepPlanChangedError: the recorded steps are of other code.
    """
    supervisor, context = current.supervisor(), current.context()
    if supervisor is None or context is None:
        return None
    with _lock:
        if not _open or _open[0].context is not context:
            _open[:] = [Journal(supervisor, context, conn_id)]
        return _open[0]
