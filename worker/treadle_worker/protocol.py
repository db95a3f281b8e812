"""What a runner host and an executor say to each other, and what a task child says to its host.

Every message is one frame: four bytes of big-endian length, then UTF-8 JSON. All messages are dicts with a ``kind``.
The executor sends *orders* to the host: ``run`` (``workloads``), ``answers``, ``renewed`` (``items`` each), ``reply``,
``terminate`` (``attempt_id``, ``reason``), ``shutdown`` (``reason``); the host sends *reports*: ``hello``, ``alive``
(each renewal), ``starts``, ``finishes``, ``heartbeats`` (``items`` each), ``request``. Starts, finishes and heartbeats
are lists: whatever gathered while the last frame was being written goes into the next, and nothing ever waits to fill
one (design section 3.5). Each item names its attempt; anything that names an older attempt is refused by the server.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypedDict

MAX_FRAME: Final = 256 * 1024 * 1024
"""Bytes; a longer frame is a broken peer."""

Outcome = Literal["success", "failed", "failed_without_retry", "skipped", "suspended", "deferred", "handed_back"]
"""How an attempt ended. ``failed`` may be retried; the server decides, the worker only reports.

``suspended``: a durable step waits; ``resume`` says until when (``at``), and which (``name``, ``inputs``).
``deferred``: it waits for a trigger, and goes on in an attempt of the same try; ``deferral`` says for which.
``handed_back``: its worker was stopped in order and ended it; the same try is made again.
"""

ErrorKind = Literal[
    "exception", "exit", "signal", "timeout", "out_of_memory", "terminated", "lost", "import", "protocol"
]


Subject = Literal["task", "callback"]
"""What a report is about; where it is missing, an attempt of a task."""


class RunFacts(TypedDict):
    """The facts of the run that an attempt belongs to. Times are ISO 8601 in UTC or None."""

    run_id: str
    run_type: str
    logical_date: str | None
    data_interval_start: str | None
    data_interval_end: str | None
    run_after: str
    start_date: str | None
    conf: dict[str, Any]
    triggered_by: str
    clear_number: int
    partition_key: NotRequired[str | None]
    partition_date: NotRequired[str | None]


class CallbackFacts(TypedDict):
    """Which callback to call: of which event, and what the event was like (``treadle.runtime.run_callback``)."""

    id: int
    event: str
    position: int | None
    facts: dict[str, Any]
    limit: float


class Deferral(TypedDict):
    """What a deferred attempt waits for. ``kwargs`` and ``next_kwargs`` are typed JSON texts (``treadle.xcom``).

    ``timeout_seconds`` count from the attempt's end, ``execution_timeout_seconds`` from the start of the try.
    """

    classpath: str
    kwargs: str
    weight: int
    next_method: str
    next_kwargs: str
    timeout_seconds: float | None
    execution_timeout_seconds: float | None
    ends_in_worker: bool
    """Whether a trigger that ends the task leaves that to a worker: there are callbacks to call, assets to tell of."""


class Resume(TypedDict):
    """What an attempt goes on with: ``method`` with ``kwargs`` and ``event`` (typed JSON texts), or an ``error``.

    ``error``: ``kind`` (``treadle.triggers.deferral``), ``error`` (one sentence) and ``traceback``.
    """

    method: str
    kwargs: str
    event: str | None
    error: dict[str, Any] | None
    first_started_at: str | None


class Workload(TypedDict):
    """One attempt to run. ``file`` is relative to the dags folder, ``log_path`` to the logs folder.

    With ``callback`` it is no attempt of a task: ``task_id`` and the rest name the instance that the callback is about,
    and are empty if it is about none. Its reports carry ``subject``: ``callback``.
    """

    attempt_id: str
    task_instance_id: int
    month: str
    dag_id: str
    task_id: str
    map_index: int
    try_number: int
    max_tries: int
    file: str
    file_hash: str
    version: str
    queue: str
    pool: str
    isolation: str
    execution_timeout_seconds: float | None
    executor_config: dict[str, Any]
    log_path: str
    expand_index: NotRequired[list[int]]
    source: NotRequired[str]
    """The text to run, of a version that is not the DAG's newest: the file on disk has another one by now."""
    transaction: NotRequired[str]
    """Of a task whose function gets a transaction: the id of its connection, for the report of the start."""
    callback: NotRequired[CallbackFacts]
    resume: NotRequired[Resume]
    """Of a task that was deferred: it goes on, within the same try."""
    run: RunFacts


class AttemptError(TypedDict):
    """Why an attempt failed, for people: one sentence, and the traceback where there is one."""

    kind: ErrorKind
    type: str
    message: str
    traceback: NotRequired[str]
    retry_action: NotRequired[str]
    retry_reason: NotRequired[str]


class PushedXCom(TypedDict):
    """One XCom that an attempt pushed: its typed JSON text and, for a list or dict, its length."""

    key: str
    value: str
    length: int | None


class EmittedAssetEvent(TypedDict):
    """One update of an asset that an attempt tells of; an asset that nobody knows yet is made of it.

    At least one of ``name`` and ``uri`` is there; ``uri`` alone means every asset of that address.
    """

    name: NotRequired[str]
    uri: NotRequired[str]
    group: NotRequired[str]
    asset_extra: NotRequired[dict[str, Any]]
    extra: dict[str, Any]
    aliases: list[str]
    partition_key: str | None


class StartReport(TypedDict):
    """The attempt is about to run user code; it waits for the answer."""

    attempt_id: str
    task_instance_id: int
    month: str
    hostname: str
    started_at: str
    subject: NotRequired[Subject]
    transaction: NotRequired[str]
    """The connection that the attempt is going to ask for along with its journal."""


class StartAnswer(TypedDict):
    """``accepted`` False: a newer attempt or a person overtook this one; its code must not run."""

    attempt_id: str
    accepted: bool
    reason: str
    journal: NotRequired[dict[str, Any]]
    """Where the start named a ``transaction`` and a new journal was made with it: what ``open_journal`` would answer,
    but without ``plan``, which is not known yet. It is missing where the attempt has to ask."""


class FinishReport(TypedDict):
    """The attempt is over. The server stores XComs, asset events, error and state in one transaction."""

    attempt_id: str
    task_instance_id: int
    month: str
    outcome: Outcome
    started_at: str | None
    ended_at: str
    hostname: str
    pid: int | None
    exit_code: int | None
    signal: int | None
    peak_rss_bytes: int | None
    cpu_seconds: float | None
    error: AttemptError | None
    xcoms: list[PushedXCom]
    asset_events: list[EmittedAssetEvent]
    rendered_fields: dict[str, Any] | None
    rendered_map_index: str | None
    retry_delay_seconds: float | None
    called_back: bool
    subject: NotRequired[Subject]
    code_hash: NotRequired[str]
    """The SHA-256 of the text that ran, where it is not the workload's ``file_hash``."""
    links: NotRequired[dict[str, str]]
    """Where the task's links lead, by their names (``treadle.operator_links``)."""
    resume: NotRequired[dict[str, str]]
    deferral: NotRequired[Deferral]


class Heartbeat(TypedDict):
    """The attempt is alive. ``asked_at`` is the host's own clock; ``renewed`` gives it back with the attempt's id."""

    attempt_id: str
    task_instance_id: int
    month: str
    asked_at: float
    subject: NotRequired[Subject]


class Request(TypedDict):
    """A question of a task child, answered by a ``reply`` with the same ``id``.

    ``op`` and ``args``: ``get_xcoms`` {"items": [{"task_id", "key", "map_indexes": list | None, "run_id": str | None,
    "dag_id": str | None, "offset": int, "limit": int | None, "item": int | None, "ask": str}]}, the last four as in
    ``treadle.runtime.supervisor.XComQuestion``, each may be missing; ``get_variable`` {"key"}; ``set_variable`` {"key",
    "value", "description"}; ``delete_variable`` {"key"}; ``get_connection`` {"conn_id"}; ``get_previous_success`` {};
    ``take_callbacks`` {};
    ``get_asset`` {"kind", "name"}; ``get_asset_events`` {"kind", "name", "after", "before", "limit", "ascending"};
    ``get_triggering_asset_events`` {}; of durable steps (``treadle.runtime.supervisor.Supervisor``) ``open_journal``
    {"plan", "conn_id": of the connection that is to come along as ``connection``, may be missing}, ``record_step``
    {"name", "inputs", "value"}, ``read_step`` {"name", "inputs"}, ``wait_for_step`` {"kind", "name", "inputs",
    "seconds"}, ``record_step_failure`` {"name", "inputs", "try", "error_type", "message", "wait"}.
    Of sensors and human steps, whose answers stand there too: ``note_wait`` {"mode", "timeout", "first_try"},
    ``get_states`` {"dag_id", "logical_dates", "task_ids", "group_id", "check"}, ``ask_human`` {"subject", "body",
    "options", "defaults", "multiple", "params", "assignees", "seconds"}.
    A reply carries ``result``, or ``error`` with one sentence.
    """

    id: int
    attempt_id: str
    task_instance_id: int
    month: str
    op: str
    args: dict[str, Any]
