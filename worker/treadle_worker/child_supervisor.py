"""A task child's way to ask for XComs, variables and connections: over its socket, through the host.

One question at a time per child; threads of a task wait for each other. An answer that cannot come (the host is gone,
the socket was closed by the task) is an :class:`errors.SupervisorError` in user code, never a hang.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from treadle.runtime import masking
from treadle.runtime.supervisor import AssetEventQuestion, XComFound, XComQuestion
from treadle_worker.frames import FrameStream
from treadle_worker.protocol import Workload


class SupervisorError(RuntimeError):
    """A question of a task could not be answered; the text says why."""


class SupervisorBase:
    """Answers the questions of one attempt (``treadle.runtime.supervisor.Supervisor``); subclasses say by what way."""

    def __init__(self, journal: dict[str, Any] | None = None) -> None:
        self._journal = journal
        """What was opened as the attempt started, until it is asked for."""
        self._came_along: dict[str, dict[str, Any] | None] = {}
        """Connections that an answer to another question brought."""

    def get_xcoms(self, questions: Sequence[XComQuestion]) -> list[list[XComFound]]:
        """Return, for each question, what was found, in index order."""
        items = [
            {
                "task_id": one.task_id,
                "key": one.key,
                "map_indexes": None if one.map_indexes is None else list(one.map_indexes),
                "run_id": one.run_id,
                "dag_id": one.dag_id,
                "offset": one.offset,
                "limit": one.limit,
                "item": one.item,
                "ask": one.ask,
            }
            for one in questions
        ]
        found = self._ask("get_xcoms", {"items": items})
        return [[XComFound(row["map_index"], row["value"]) for row in rows] for rows in found]

    def get_variable(self, key: str) -> str | None:
        """Return a variable's text, or None if there is none."""
        value: str | None = self._ask("get_variable", {"key": key})
        if value is not None:
            masking.add_variable(key, value)
        return value

    def set_variable(self, key: str, value: str, description: str | None) -> None:
        """Store a variable."""
        self._ask("set_variable", {"key": key, "value": value, "description": description})

    def delete_variable(self, key: str) -> None:
        """Delete a variable, if it is there."""
        self._ask("delete_variable", {"key": key})

    def get_connection(self, conn_id: str) -> dict[str, Any] | None:
        """Return a connection's fields, or None if there is none; its secrets are masked in this attempt's log."""
        fields: dict[str, Any] | None
        if conn_id in self._came_along:
            fields = self._came_along.pop(conn_id)
        else:
            fields = self._ask("get_connection", {"conn_id": conn_id})
        if fields is not None:
            masking.add_connection(fields)
        return fields

    def take_callbacks(self) -> bool:
        """Take on the callbacks of the attempt's end, unless it was ended by others."""
        return bool(self._ask("take_callbacks", {}))

    def get_previous_success(self) -> dict[str, str | None]:
        """Return data_interval_start, data_interval_end, start_date and end_date of the previous successful run."""
        facts: dict[str, str | None] = self._ask("get_previous_success", {})
        return facts

    def get_asset(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return name, uri, group and extra of an asset asked for by its key, or None if there is none."""
        found: dict[str, Any] | None = self._ask("get_asset", {"kind": kind, "name": name})
        return found

    def get_asset_events(self, question: AssetEventQuestion) -> list[dict[str, Any]]:
        """Return events of an asset or alias, in the order asked for."""
        found: list[dict[str, Any]] = self._ask("get_asset_events", asdict(question))
        return found

    def get_triggering_asset_events(self) -> list[dict[str, Any]]:
        """Return the events that the attempt's run was made of, the oldest first."""
        found: list[dict[str, Any]] = self._ask("get_triggering_asset_events", {})
        return found

    def open_journal(self, of: str, plan: str, conn_id: str | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Open the journal of this attempt's durable steps, whose instance the attempt itself names."""
        args = {"plan": plan} if conn_id is None else {"plan": plan, "conn_id": conn_id}
        found, self._journal = self._journal, None
        if found is None:
            found = self._ask("open_journal", args)
        else:
            conn_id = found.pop("conn_id", None)
        if conn_id is not None and "connection" in found:
            # Answered once: who asks again is told what it is by then. A server that is older answers nothing of it.
            self._came_along[conn_id] = found.pop("connection")
        return found

    def record_step(self, of: str, step: dict[str, str]) -> str | None:  # noqa: ARG002
        """Record a step; return the value that stands there already, if one does."""
        found: str | None = self._ask("record_step", step)
        return found

    def read_step(self, of: str, step: dict[str, str]) -> str:  # noqa: ARG002
        """Return the recorded value of a step."""
        found: str = self._ask("read_step", step)
        return found

    def record_step_failure(self, of: str, failure: dict[str, Any]) -> None:  # noqa: ARG002
        """Record that a try of a step failed."""
        self._ask("record_step_failure", failure)

    def wait_for_step(self, of: str, step: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Begin a sleep or an awakeable, or look at the one that is under way."""
        found: dict[str, Any] = self._ask("wait_for_step", step)
        return found

    def note_wait(self, of: str, wait: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Note that a sensor looked in vain; return how long and how often it has."""
        found: dict[str, Any] = self._ask("note_wait", dict(wait))
        return found

    def get_states(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the states of runs of another DAG."""
        found: dict[str, Any] = self._ask("get_states", dict(question))
        return found

    def ask_human(self, of: str, question: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Ask people, or look at the answer."""
        found: dict[str, Any] = self._ask("ask_human", dict(question))
        return found

    def _ask(self, op: str, args: dict[str, Any]) -> Any:
        """Return the answer to a question."""
        raise NotImplementedError


class ChildSupervisor(SupervisorBase):
    """Asks over a task child's socket."""

    def __init__(self, stream: FrameStream, workload: Workload, journal: dict[str, Any] | None = None) -> None:
        super().__init__(journal)
        self._stream = stream
        self._workload = workload
        self._lock = threading.Lock()
        self._last = 0

    def _ask(self, op: str, args: dict[str, Any]) -> Any:
        workload = self._workload
        with self._lock:
            self._last += 1
            number = self._last
            question = {
                "kind": "request",
                "id": number,
                "attempt_id": workload["attempt_id"],
                "op": op,
                "args": args,
            }
            try:
                self._stream.send(question)
                reply = self._stream.receive()
            except OSError as error:
                raise SupervisorError(f"{op} got no answer: the runner host cannot be reached ({error})") from error
        if reply is None:
            raise SupervisorError(f"{op} got no answer: the runner host is gone")
        if "error" in reply:
            raise SupervisorError(f"{op} was refused: {reply['error']}")
        return reply["result"]
