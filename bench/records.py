"""What the chaos benchmark knows of an installation's past: rows of its database, and what its tasks noted themselves.

Made by ``bench.recorded``, judged by ``bench.checker`` and ``bench.promises``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Move:
    """A row of ``state_transition``."""

    id: int
    entity: str
    entity_id: int
    old: str
    new: str
    attempt_id: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A row of ``dag_run``."""

    id: int
    dag_id: str
    state: str
    run_id: str = ""
    run_type: str = "manual"
    backfill_id: int | None = None
    clear_number: int = 0
    run_after: float = 0.0
    """This and the other times are seconds since 1970."""
    queued_at: float = 0.0
    ended_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A row of ``task_instance``."""

    id: int
    dag_run_id: int
    dag_id: str
    task_id: str
    map_index: int = -1
    state: str
    try_number: int = 1
    max_tries: int = 0
    pool: str = "default_pool"
    pool_slots: int = 1
    executor: str = "local"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A row of ``task_attempt``; ``outcome`` is None while it is open."""

    id: str
    instance_id: int
    try_number: int
    outcome: str | None
    is_called_back: bool = False
    """Somebody has taken on to call the callbacks of its end."""


@dataclass(frozen=True, slots=True)
class Sign:
    """User code of a try was seen at work: ``at`` is in seconds of a clock that all processes share."""

    instance_id: int
    try_number: int
    pid: int
    kind: str
    """``begin``, ``tick``, ``end``, ``resume1``, ``resume2`` ... for what follows a wait, or ``never``."""
    at: float


@dataclass(frozen=True, slots=True)
class Excuse:
    """A span in which the code of these processes could not be ended in time: their host was stopped itself.

    None: of any process, since a scheduler with a wrong clock took leases for over.
    """

    pids: frozenset[int] | None
    began: float
    ended: float

    def covers(self, pid: int) -> bool:
        """Tell whether it is about this process."""
        return self.pids is None or pid in self.pids


@dataclass(frozen=True, slots=True)
class WrongClock:
    """A span, in seconds since 1970, in which a scheduler's clock was off by so many seconds."""

    seconds: float
    began: float
    ended: float
    monotonic: float = 0.0
    """When it began by the clock of the signs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The sizes that hold for the whole history. A missing name has no limit; -1 slots are without limit."""

    parallelism: int
    executors: Mapping[str, int] = field(default_factory=dict)
    pools: Mapping[str, int] = field(default_factory=dict)
    runs_of_dag: Mapping[str, int] = field(default_factory=dict)
    runs_of_backfill: Mapping[int, int] = field(default_factory=dict)
    tasks_of_run: Mapping[str, int] = field(default_factory=dict)
    """By DAG: the most active instances of one run."""
    instances_of_task: Mapping[tuple[str, str], int] = field(default_factory=dict)
    instances_of_task_in_run: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a task's place in its DAG promises."""

    upstream: tuple[str, ...] = ()
    rule: str = "all_success"
    mapped_group: str | None = None
    setups: tuple[str, ...] = ()
    callbacks: frozenset[str] = frozenset()
    """Which ends of an attempt it has callbacks for."""
    outlets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dag:
    """What a DAG promises beside its limits."""

    tasks: Mapping[str, Shape] = field(default_factory=dict)
    callbacks: frozenset[str] = frozenset()
    """Which ends of a run it has callbacks for."""
    deadline_seconds: tuple[float, ...] = ()
    """After the run was queued; one for each of its alerts."""
    consumes: frozenset[str] = frozenset()
    """The assets that its runs are made for."""
    consumes_any: bool = False
    """Whether one of them is enough."""
    every: float | None = None
    """The seconds between two times of its schedule, each of which becomes a run or a missed time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A row of ``callback``."""

    id: int
    dag_run_id: int
    event: str
    state: str
    instance_id: int | None = None
    try_number: int | None = None
    deadline_id: int | None = None
    late_by: float | None = None
    """Of a deadline: how many seconds after it the run had ended; None if it was under way."""


@dataclass(frozen=True, slots=True)
class Call:
    """Code of a callback was seen at work; of the callbacks of a run, ``instance_id`` is None."""

    event: str
    dag_run_id: int
    instance_id: int | None = None
    try_number: int = 0


@dataclass(frozen=True, slots=True)
class Deadline:
    """A row of ``deadline``."""

    id: int
    dag_run_id: int
    is_missed: bool


@dataclass(frozen=True, slots=True)
class Event:
    """A row of ``asset_event``, and the instance that it came from."""

    id: int
    asset: str
    instance_id: int | None


@dataclass(frozen=True, slots=True)
class Backfill:
    """A row of ``backfill``; ``dates`` are all that it covers, as seconds since 1970."""

    id: int
    dates: tuple[float, ...]
    is_completed: bool


@dataclass(frozen=True, slots=True)
class Missed:
    """Times of a schedule that became no run."""

    dag_id: str
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Step:
    """A row of ``durable_step``, and the key that its code sees."""

    key: str
    instance_id: int
    done_at: float | None


@dataclass(frozen=True, slots=True)
class StepDone:
    """The code of a durable step was seen at work."""

    key: str
    pid: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All that is known of what happened; clearing is allowed, and marking of the runs ``marked``."""

    runs: Sequence[Run]
    instances: Sequence[Instance]
    attempts: Sequence[Attempt]
    moves: Sequence[Move]
    limits: Limits
    signs: Sequence[Sign] = ()
    excuses: Sequence[Excuse] = ()
    overlap_seconds: float = 0.0
    """How long an attempt may go on after a newer one began: the time between an order to end and its effect."""
    wrong_clocks: Sequence[WrongClock] = ()
    marked: Set[int] = frozenset()
    """Runs that people ended themselves: what became of their tasks is not the scheduler's doing alone."""
    dags: Mapping[str, Dag] = field(default_factory=dict)
    callbacks: Sequence[Callback] = ()
    calls: Sequence[Call] = ()
    deadlines: Sequence[Deadline] = ()
    events: Sequence[Event] = ()
    consumed: Sequence[tuple[str, int, int]] = ()
    """Consumer, event and run."""
    gathered: Sequence[tuple[str, str, int]] = ()
    """Consumer, asset and event of what is in no run yet."""
    backfills: Sequence[Backfill] = ()
    missed: Sequence[Missed] = ()
    steps: Sequence[Step] = ()
    steps_done: Sequence[StepDone] = ()
    waits: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """How many seconds the tasks of a DAG wait, wait by wait, deferred."""
    triggers: int = 0
    """How many triggers are left."""


HANDED_BACK = "handed_back"
"""The outcome of an attempt that a stopping scheduler gave up: its try was made again."""
SUSPENDED = "suspended"
"""The outcome of an attempt that ended since a durable step waits: its try goes on in another attempt."""
DEFERRED = "deferred"
"""The outcome of an attempt that ended since its task waits for a trigger: its try goes on in another attempt."""
UNCHARGED = frozenset({HANDED_BACK, SUSPENDED})


def paths_of(history: History) -> dict[tuple[str, int], list[Move]]:
    """Return the moves of each run and instance, by entity and id, in their order."""
    found: dict[tuple[str, int], list[Move]] = defaultdict(list)
    for move in sorted(history.moves, key=lambda move: move.id):
        found[move.entity, move.entity_id].append(move)
    return found


def name_of(one: Instance) -> str:
    """Return what people call an instance."""
    index = "" if one.map_index < 0 else f"[{one.map_index}]"
    return f"{one.dag_id}.{one.task_id}{index} of run {one.dag_run_id} (instance {one.id})"
