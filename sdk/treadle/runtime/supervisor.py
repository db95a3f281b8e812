"""What a running task may ask of whoever supervises it, and what it hands back.

A worker child asks over its socket (``treadle_worker.child``); ``dag.test()`` asks a supervisor in memory. User code
never sees a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True)
class XComQuestion:
    """Which XComs to fetch. ``map_indexes`` None means all of them, in index order; ids None mean the attempt's own.

    ``offset`` and ``limit`` take a page of these. ``item`` takes one element out of each (of a dict its pair): what has
    no elements, or cannot be taken apart where it is stored, is not found. ``ask``: ``values``; ``count``, how many
    were pushed; ``length``, how many instances a task mapped over the result has, not found if it cannot be mapped
    over. A number is answered as the text of one :class:`XComFound`.
    """

    task_id: str
    key: str = "return_value"
    map_indexes: tuple[int, ...] | None = None
    run_id: str | None = None
    dag_id: str | None = None
    offset: int = 0
    limit: int | None = None
    item: int | None = None
    ask: Literal["values", "count", "length"] = "values"


@dataclass(frozen=True, slots=True)
class XComFound:
    """One stored XCom: its map index and its typed JSON text (``treadle.xcom``)."""

    map_index: int
    value: str


@dataclass(frozen=True, slots=True)
class AssetEventQuestion:
    """Which asset's or alias's events to fetch; ``after`` (from it on) and ``before`` are ISO 8601 texts."""

    kind: str
    name: str
    after: str | None = None
    before: str | None = None
    limit: int | None = None
    ascending: bool = True


class Supervisor(Protocol):
    """Answers the questions of one attempt."""

    def get_xcoms(self, questions: Sequence[XComQuestion]) -> list[list[XComFound]]:
        """Return, for each question, what was found, in index order."""

    def get_variable(self, key: str) -> str | None:
        """Return a variable's text, or None if there is none."""

    def set_variable(self, key: str, value: str, description: str | None) -> None:
        """Store a variable."""

    def delete_variable(self, key: str) -> None:
        """Delete a variable, if it is there."""

    def get_connection(self, conn_id: str) -> dict[str, Any] | None:
        """Return a connection's fields (conn_id, conn_type, host, ...), or None if there is none."""

    def get_previous_success(self) -> dict[str, str | None]:
        """Return data_interval_start, data_interval_end, start_date and end_date of the previous successful run."""

    def take_callbacks(self) -> bool:
        """Take on the callbacks of the attempt's end; False: the attempt was ended by others, who see to them."""

    def get_asset(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return name, uri, group and extra of an asset asked for by its key, or None if there is none."""

    def get_asset_events(self, question: AssetEventQuestion) -> list[dict[str, Any]]:
        """Return events (``treadle.runtime.asset_events.event_of``) in the order asked for."""

    def get_triggering_asset_events(self) -> list[dict[str, Any]]:
        """Return the events that the attempt's run was made of, the oldest first."""

    def open_journal(self, of: str, plan: str, conn_id: str | None = None) -> dict[str, Any]:
        """Open the journal of durable steps of task instance ``of``, pinned to the code ``plan``.

        With ``conn_id`` the connection, which is asked for next, comes along with it, where that saves a question.

        Returns ``id``, ``plan`` (that of the recorded steps: the same one, or nothing may be replayed) and ``steps``:
        name, inputs and value (None: ask :meth:`read_step`) of each that is recorded. Without ``plan`` it is new
        and was opened as the attempt started: to be opened again before the first step is recorded.
        """

    def record_step(self, of: str, step: dict[str, str]) -> str | None:
        """Record name, inputs and value of a step; return the value that stands there already, if one does."""

    def read_step(self, of: str, step: dict[str, str]) -> str:
        """Return the recorded value of a step by its name and inputs."""

    def record_step_failure(self, of: str, failure: dict[str, Any]) -> None:
        """Record that a ``try`` of a step failed: its ``error_type``, ``message``, and ``wait`` before the next one."""

    def wait_for_step(self, of: str, step: dict[str, Any]) -> dict[str, Any]:
        """Begin a ``kind`` of wait (sleep, awakeable) of ``seconds``, or look at the one that is under way.

        Returns ``state`` (waiting, done, timed_out), ``due_at``, ``value`` (JSON) and ``token`` of an awakeable.
        """

    def note_wait(self, of: str, wait: Mapping[str, Any]) -> dict[str, Any]:
        """Note that a sensor looked in vain: its ``mode``, ``timeout`` (seconds), and the ``first_try`` of its wait.

        Returns ``waited``, in seconds since that try began, ``pokes``, how many were in vain, this one among them, and
        ``at``, the server's time.
        """

    def get_states(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the states of runs of another DAG: ``dag_id``, ``logical_dates`` (ISO 8601), ``task_ids`` (None: of
        no tasks), ``group_id``, and ``check``, whether to tell what of it is ``missing``.

        Returns ``runs``, a list of {"logical_date", "run_id", "state", "tasks": {task id: {state: instances}}}.
        """

    def ask_human(self, of: str, question: Mapping[str, Any]) -> dict[str, Any]:
        """Ask people, or look at the answer: ``subject``, ``body``, ``options``, ``defaults``, ``multiple``, ``params``
        ({name: {"value", "has_value", "schema", "description"}}), ``assignees``, and ``seconds`` to wait, or None.

        Returns ``is_new``, ``state`` (waiting, answered, timed_out), ``due_at``, ``chosen``, ``given`` (values by
        param), ``answered_at``, ``answered_by``, and ``timed_out``: the defaults are the answer.
        """


@dataclass(slots=True)
class AttemptResult:
    """How an attempt ended in user code. The fields are those of ``treadle_worker.protocol.FinishReport``."""

    outcome: str
    """success, failed, failed_without_retry, skipped, suspended or deferred."""
    error: dict[str, str] | None = None
    xcoms: list[dict[str, Any]] = field(default_factory=list)
    """Pushed XComs: {"key", "value" (typed JSON text), "length" (of a list or dict, else None)}."""
    rendered_fields: dict[str, Any] | None = None
    rendered_map_index: str | None = None
    retry_delay_seconds: float | None = None
    asset_events: list[dict[str, Any]] = field(default_factory=list)
    """Of a success, for each event: {"name" or "uri", "group", "asset_extra", "extra", "aliases", "partition_key"}."""
    links: dict[str, str] | None = None
    """The addresses of the task's links, by their names (``treadle.operator_links``)."""
    exit_code: int | None = None
    called_back: bool = False
    """Whether the callbacks of its end were taken on: once, here or by the server."""
    resume: dict[str, str] | None = None
    """Of a suspended one: the time ``at`` which it goes on, and ``name`` and ``inputs`` of the step that waits."""
    deferral: dict[str, Any] | None = None
    """Of a deferred one: what it waits for (``treadle_worker.protocol.Deferral``)."""
