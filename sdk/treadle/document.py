"""The plain-JSON form of a DAG: the only form that servers see.

The DAG processor's child turns DAG objects into a :class:`DagDocument` (``treadle.serialization``); the metadata
database stores its JSON; the scheduler and the web server read it back into these frozen dataclasses. Nothing here
imports user code, and no value is ever turned into a class named by the document.

The JSON is deterministic (sorted keys, defaults left out), so that parsing an unchanged file any number of times
gives one digest (design section 7). Times are ISO 8601 strings in UTC, durations are seconds.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

FORMAT = 1
"""Version of the document's format, written into each document."""

Json = Any
"""A value that ``json`` can carry."""

SKIPPED_TASKS = "treadle.skipped_tasks"
"""XCom key under which an attempt of a task with ``can_skip`` names the tasks that are skipped whatever their trigger
rule: a JSON list of task ids. User code cannot push keys that begin with :data:`RESERVED_KEYS`."""

RESERVED_KEYS = "treadle."
"""What the keys of the XComs begin with that Treadle itself pushes."""


AssetKey = tuple[str, str]
"""What an asset is asked for by: its kind (``asset``: by name, ``uri``: by address, ``alias``) and that name."""


@dataclass(frozen=True, slots=True)
class AssetCondition:
    """Which assets a schedule waits for: one (``asset``, ``uri`` or ``alias``, with its ``name``), or all or any of
    ``inner``.
    """

    kind: str
    name: str = ""
    inner: tuple[AssetCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class AssetDocument:
    """An asset as a DAG file defines it; of an alias, ``uri`` is empty."""

    name: str
    uri: str = ""
    group: str = "asset"
    extra: Json = field(default_factory=dict)
    watchers: tuple[Json, ...] = ()
    """Triggers whose events become the asset's: ``name``, ``classpath``, ``kwargs`` (typed JSON text), ``weight`` and
    ``key``, which watchers have in common that poll the same."""


@dataclass(frozen=True, slots=True)
class ScheduleDocument:
    """When runs are made. ``kind`` picks the timetable, the other fields are its arguments.

    kinds: ``none``, ``assets`` (only events of ``condition`` make runs), ``once``, ``continuous``,
    ``cron`` (``expressions``, ``timezone``, ``style``),
    ``delta`` (``seconds`` or ``relative``, ``style``), ``events`` (``moments``), ``custom``. ``style`` is ``trigger``
    (the logical date is the fire time), ``interval`` (the run covers the interval that ends at it) or ``default`` (as
    the server is set).
    ``gap`` and ``doubled`` are the clock-change policies (design section 8). ``relative`` are the parts of a
    relativedelta; ``run_immediately`` says what becomes of the latest past time of a DAG without a start date:
    True takes it, False only if it is recent, a number only if it is at most that many seconds past.
    """

    kind: str = "none"
    expressions: tuple[str, ...] = ()
    timezone: str = "UTC"
    seconds: float | None = None
    style: str = "trigger"
    interval_seconds: float = 0.0
    gap: str = "shift"
    doubled: str = "first"
    summary: str = ""
    relative: tuple[tuple[str, int], ...] = ()
    run_immediately: bool | float = False
    moments: tuple[str, ...] = ()
    """Of ``events``: the instants at which runs are made, in order, as ISO 8601 text in UTC."""
    restrict_to_events: bool = False
    """Of ``events``: whether a manual run takes the moment of the last event instead of its own."""
    custom: str = ""
    """Of ``custom``: where the class is found (``treadle.timetables.custom``)."""
    data: str = ""
    """Of ``custom``: what its ``serialize()`` gave, as JSON text."""
    active_runs_limit: int | None = None
    """Of ``custom``: the most runs that may be active at once, whatever the DAG says."""
    periodic: bool = True
    """Of ``custom``: whether its runs repeat, so that a backfill has a meaning."""
    condition: AssetCondition | None = None
    """The assets whose events make runs, besides what the clock makes."""
    partitions: str = ""
    """Of a condition: how events' keys become the keys of runs (``treadle.partition_documents``); empty: by none."""
    partition_key_format: str = ""
    """Of ``cron``: the format of ``strftime`` that makes a run's partition key of its time; empty: it has none."""


@dataclass(frozen=True, slots=True)
class ExpandArgument:
    """One mapped argument: a literal of ``length`` items, the result of an upstream task, or a combination of others.

    ``combine`` says how the lengths of ``sources`` make this one's: ``zip`` is the shortest, ``zip_longest`` the
    longest, ``concat`` the sum. A ``map`` has the length of what it is applied to, so it leaves no trace here.
    """

    name: str
    length: int | None = None
    task_id: str | None = None
    key: str = "return_value"
    combine: str | None = None
    sources: tuple[ExpandArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpandDocument:
    """How a mapped task is expanded. ``kind``: ``product`` of all arguments, or ``kwargs`` (one list of dicts)."""

    kind: str
    arguments: tuple[ExpandArgument, ...]


@dataclass(frozen=True, slots=True)
class MarkerDocument:
    """Which task of another DAG is cleared with this one: in its run ``delta_seconds`` later. ``depth``: over so many
    markers."""

    dag_id: str
    task_id: str
    delta_seconds: float = 0.0
    depth: int = 10


@dataclass(frozen=True, slots=True)
class TaskDocument:
    """One task. ``upstream`` lists the direct upstream task ids, sorted."""

    task_id: str
    operator: str = "BaseOperator"
    module: str = "treadle.operators"
    group_id: str | None = None
    display_name: str | None = None
    owner: str = "treadle"
    doc_md: str | None = None
    upstream: tuple[str, ...] = ()
    trigger_rule: str = "all_success"
    depends_on_past: bool = False
    wait_for_downstream: bool = False
    ignore_first_depends_on_past: bool = False
    retries: int = 0
    retry_delay_seconds: float = 300.0
    retry_exponential_backoff: float = 0.0
    max_retry_delay_seconds: float | None = None
    execution_timeout_seconds: float | None = None
    pool: str = "default_pool"
    pool_slots: int = 1
    priority_weight: int = 1
    weight_rule: str = "downstream"
    weights: tuple[int, ...] = ()
    """What each try weighs, where a strategy says so; the last number holds for all further tries."""
    queue: str = "default"
    executor: str | None = None
    executor_config: Json = field(default_factory=dict)
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None
    start_date: str | None = None
    end_date: str | None = None
    inlets: tuple[AssetKey, ...] = ()
    outlets: tuple[AssetKey, ...] = ()
    """The assets and aliases that the task reads and updates, sorted."""
    is_empty: bool = False
    """True when the task needs no worker: an EmptyOperator without callbacks, inlets or outlets."""
    isolation: str = "process"
    """``process``: a fresh process for each attempt. ``shared``: a child may run several attempts in turn."""
    template_fields: tuple[str, ...] = ()
    expand: ExpandDocument | None = None
    map_index_template: str | None = None
    can_skip: bool = False
    """True when an attempt of the task may name tasks to skip (:data:`SKIPPED_TASKS`): a branch or short circuit."""
    is_setup: bool = False
    is_teardown: bool = False
    setups: tuple[str, ...] = ()
    """Of a teardown: the setups that it cleans up after, sorted; it waits for them directly."""
    on_failure_fail_dagrun: bool = False
    """Of a teardown: whether its failure fails the run."""
    callbacks: tuple[str, ...] = ()
    """Which ends of an attempt the task has callbacks for, sorted: ``failure``, ``retry``, ``skipped``, ``success``."""
    marks: MarkerDocument | None = None
    """Of an ``ExternalTaskMarker``: the task that waits for it."""
    start_trigger: Json = None
    """Of a task that is deferred before any worker starts it: what it waits for (``treadle_worker.protocol.Deferral``).
    """
    transaction: str | None = None
    """Of a task whose function gets a transaction: the id of its connection, which an attempt gets as it starts."""
    extra_links: tuple[str, ...] = ()
    """The names of the links that its attempts may have (``treadle.operator_links``), in the order of the operator."""
    line: int | None = field(default=None, compare=False)
    """Line of the task's definition in its file; not part of the digest."""

    @property
    def waits_for_past(self) -> bool:
        """Whether the task waits for the run before its own."""
        return self.depends_on_past or self.wait_for_downstream


@dataclass(frozen=True, slots=True)
class ParamDocument:
    """A DAG parameter: its default, its JSON schema and its description."""

    name: str
    value: Json = None
    has_default: bool = True
    schema: Json = field(default_factory=dict)
    description: str | None = None


@dataclass(frozen=True, slots=True)
class GroupDocument:
    """A task group; ``parent`` is None for a group that stands directly in the DAG."""

    group_id: str
    parent: str | None = None
    label: str | None = None
    tooltip: str = ""
    doc_md: str | None = None
    expand: ExpandDocument | None = None
    """What the group is mapped over: each of its tasks has an instance for each item."""


@dataclass(frozen=True, slots=True)
class DeadlineDocument:
    """One deadline of a DAG's runs: ``interval_seconds`` after what ``reference`` names.

    references: ``dagrun_queued_at``, ``dagrun_logical_date``, ``fixed_datetime`` (``fixed_at``), ``average_runtime``
    (``max_runs``, ``min_runs``). ``callback`` names what is called, for people; the child finds it by position.
    """

    reference: str
    interval_seconds: float
    name: str | None = None
    fixed_at: str | None = None
    max_runs: int | None = None
    min_runs: int | None = None
    callback: str = ""
    is_async: bool = False
    executor: str | None = None


@dataclass(frozen=True, slots=True)
class DagDocument:
    """One DAG. ``tasks`` stand in topological order (ties by definition order)."""

    dag_id: str
    format: int = FORMAT
    display_name: str | None = None
    description: str | None = None
    doc_md: str | None = None
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    schedule: ScheduleDocument = ScheduleDocument()
    start_date: str | None = None
    end_date: str | None = None
    timezone: str = "UTC"
    catchup: bool | str = False
    """What becomes of missed times. True: each one a run; False: the latest one; ``none``: none of them."""
    overlap: str = "wait"
    """What becomes of a time that comes while the DAG is at its run limit. ``wait``: its run is made when there is
    room; ``skip``: it is left out."""
    max_active_runs: int | None = None
    """None means the setting ``max_active_runs_per_dag`` as it is when a run starts (case A19)."""
    max_active_tasks: int | None = None
    """The most unfinished attempts of one run; None means the setting ``max_active_tasks_per_dag``."""
    dagrun_timeout_seconds: float | None = None
    fail_fast: bool = False
    rerun_with_latest_version: bool | None = None
    """Whether a cleared run moves to the newest version; None means the setting of this name."""
    is_paused_upon_creation: bool | None = None
    callbacks: tuple[str, ...] = ()
    """Which ends of a run the DAG has callbacks for: ``failure``, ``success``."""
    deadlines: tuple[DeadlineDocument, ...] = ()
    params: tuple[ParamDocument, ...] = ()
    groups: tuple[GroupDocument, ...] = ()
    tasks: tuple[TaskDocument, ...] = ()
    edge_labels: tuple[tuple[str, str, str], ...] = ()
    assets: tuple[AssetDocument, ...] = ()
    asset_aliases: tuple[AssetDocument, ...] = ()
    """What its schedule and its tasks name, sorted by name; mere references are not among them."""
    line: int | None = field(default=None, compare=False)
    """Line of the DAG's definition in its file; not part of the digest."""


_NESTED: dict[str, type[Any]] = {
    "schedule": ScheduleDocument,
    "expand": ExpandDocument,
    "arguments": ExpandArgument,
    "sources": ExpandArgument,
    "tasks": TaskDocument,
    "marks": MarkerDocument,
    "deadlines": DeadlineDocument,
    "params": ParamDocument,
    "groups": GroupDocument,
    "condition": AssetCondition,
    "inner": AssetCondition,
    "assets": AssetDocument,
    "asset_aliases": AssetDocument,
}


def to_json(document: Any) -> Json:
    """Return the plain form of ``document``: a dict without the fields that hold their default."""
    plain: dict[str, Json] = {}
    for name, default in _defaults(type(document)):
        value = getattr(document, name)
        if value != default or name == "format":
            plain[name] = _plain(value)
    return plain


def dumps(document: DagDocument) -> str:
    """Return the canonical JSON text of ``document``: sorted keys, no white space."""
    return json.dumps(to_json(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def loads(text: str | Json) -> DagDocument:
    """Read a document back from its JSON text or from the decoded JSON.

    Unknown keys are passed over, so that an older server can read what a newer SDK wrote.
    """
    return _read(DagDocument, json.loads(text) if isinstance(text, str) else text)  # type: ignore[no-any-return]


_DEFAULTS: dict[type[Any], tuple[tuple[str, Any], ...]] = {}
"""The fields of each document class with their defaults; asked for each task, so worked out once."""


def _defaults(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    found = _DEFAULTS.get(kind)
    if found is None:
        found = _DEFAULTS[kind] = tuple((one.name, _default(one)) for one in fields(kind))
    return found


def _default(one: Any) -> Any:
    if one.default is not MISSING:
        return one.default
    return one.default_factory() if one.default_factory is not MISSING else MISSING


def _plain(value: Any) -> Json:
    if hasattr(value, "__dataclass_fields__"):
        return to_json(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _read(kind: type[Any], plain: dict[str, Json]) -> Any:
    known = {one.name for one in fields(kind)}
    return kind(**{name: _value(name, value) for name, value in plain.items() if name in known})


def _value(name: str, value: Json) -> Any:
    kind = _NESTED.get(name)
    if kind is not None and isinstance(value, dict):
        return _read(kind, value)
    if kind is not None and isinstance(value, list):
        return tuple(_read(kind, item) for item in value)
    if name in ("edge_labels", "relative", "inlets", "outlets"):
        return tuple(tuple(pair) for pair in value)
    return tuple(value) if isinstance(value, list) and name in _SEQUENCES else value


_SEQUENCES = frozenset(
    {
        *("weights", "watchers", "upstream", "tags", "owners", "expressions", "moments", "template_fields", "setups"),
        *("callbacks", "extra_links"),
    }
)
