"""Why a task instance does not run, by its state. Pure: the reading is done by ``treadle_metadata.queries.why``.

The decisions are those of the scheduler itself: trigger rules (``readiness``), the run before (``past``) and limits
(``limits``). Nothing here decides anew.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Final

from treadle_metadata.deciding.graph import Graph
from treadle_metadata.deciding.limits import Candidate, Limits, Load, Refusal, admit, refusal
from treadle_metadata.deciding.readiness import verdict, waited_for
from treadle_metadata.deciding.reasons import Blocker, Explanation, Kind, Reason, instance_id
from treadle_metadata.deciding.snapshot import Snapshot
from treadle_metadata.deciding.turns import Turns, in_turn
from treadle_metadata.deciding.wording import ahead, instant, names, span
from treadle_metadata.states import FINISHED, TaskState

_FINISHED: Final = frozenset(state.value for state in FINISHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFacts:
    """One task instance as its row has it; ``error`` is what its newest attempt ended with."""

    id: int
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    state: str
    try_number: int = 0
    max_tries: int = 0
    executor: str | None = None
    hostname: str | None = None
    queued_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    lease_until: datetime | None = None
    next_retry_at: datetime | None = None
    waiting_for: str | None = None

    @property
    def name(self) -> str:
        """The task's id, with the map index where there is one."""
        return self.task_id if self.map_index < 0 else f"{self.task_id}[{self.map_index}]"

    @property
    def blocker(self) -> Blocker:
        """This instance as what others wait for."""
        return Blocker(Kind.TASK_INSTANCE, instance_id(self.dag_id, self.run_id, self.task_id, self.map_index))


@dataclass(frozen=True, slots=True)
class Holder:
    """An active instance that holds ``slots`` of its pool and one place of each cap."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    state: str
    slots: int

    @property
    def blocker(self) -> Blocker:
        """This instance as what others wait for."""
        return Blocker(Kind.TASK_INSTANCE, instance_id(self.dag_id, self.run_id, self.task_id, self.map_index))

    def __str__(self) -> str:
        """Return the instance with its slots and its state."""
        where = instance_id(self.dag_id, self.run_id, self.task_id, self.map_index)
        slots = "" if self.slots == 1 else f"{self.slots} slots, "
        return f"{where} ({slots}{self.state})"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A scheduled instance that goes before the one in question."""

    candidate: Candidate
    run_id: str
    map_index: int
    weight: int


def settled(one: InstanceFacts, cause: str = "") -> Explanation | None:
    """Return that the instance has finished or runs at this moment, if so; ``cause`` is why it ended as it did."""
    if one.state in _FINISHED:
        when = "" if one.ended_at is None else f" at {instant(one.ended_at)}"
        sentence = f"{one.name} has ended in state {one.state}{when}{f': {cause}' if cause else ''}"
        return Explanation(Reason.FINISHED, sentence, one.blocker)
    if one.state in (TaskState.RUNNING, TaskState.RESTARTING):
        since = "" if one.started_at is None else f" since {instant(one.started_at)}"
        host = f" on {one.hostname}" if one.hostname else ""
        return Explanation(Reason.RUNNING, f"{one.name} runs{since}, try {one.try_number}{host}", one.blocker)
    return None


def before_run(
    one: InstanceFacts, previous_run_id: str, open_tasks: Mapping[str, set[str]], *, downstream_too: bool
) -> Explanation:
    """Return that the instance waits for tasks of the run before, and for which."""
    parts = [f"{name} ({', '.join(sorted(states))})" for name, states in open_tasks.items()]
    setting = "wait_for_downstream" if downstream_too else "depends_on_past"
    sentence = f"{one.name} waits for the run before, {previous_run_id!r}: {names(parts)} ({setting})"
    first = instance_id(one.dag_id, previous_run_id, next(iter(open_tasks)))
    return Explanation(Reason.PAST_RUN, sentence, Blocker(Kind.TASK_INSTANCE, first))


def not_in_version(one: InstanceFacts, number: int) -> Explanation:
    """Return that the version of the run does not have the task of this instance (any more)."""
    sentence = f"task {one.task_id!r} is not in version {number} of DAG {one.dag_id!r}, on which its run stands"
    return Explanation(Reason.OTHER_VERSION, sentence, Blocker(Kind.DAG_VERSION, f"{one.dag_id}/{number}"))


States = Mapping[str, Mapping[int, str]]
"""Of each task of a run, the states of its instances by map index."""


def undecided(one: InstanceFacts, snapshot: Snapshot, states: States) -> Explanation:
    """Return what the trigger rule says of an instance that is not decided upon yet; ``states`` are its run's."""
    graph = snapshot.graph
    node = graph.nodes[graph.index[one.task_id]]
    found = verdict(snapshot, node, one.map_index + 1)
    if found.action != "wait":
        sentence = f"nothing holds {one.name}: it is decided at the scheduler's next beat ({found.reason})"
        return Explanation(Reason.NEXT_BEAT, sentence)
    waits_for = []
    for index in waited_for(graph, node):
        other = graph.nodes[index]
        own = states.get(other.task.task_id, {})
        if other.group is not None and other.group is node.group:  # in a mapped group, the same instance alone
            own = {at: state for at, state in own.items() if at == one.map_index}
        if any(state not in _FINISHED for state in own.values()):
            waits_for.append((other.task.task_id, own))
    shown = names([_standing(name, own) for name, own in waits_for])
    sentence = f"{one.name} {found.reason}; unfinished: {shown}"
    first, own = waits_for[0]
    blocker = instance_id(one.dag_id, one.run_id, first, next(iter(own)) if len(own) == 1 else -1)
    return Explanation(Reason.TRIGGER_RULE, sentence, Blocker(Kind.TASK_INSTANCE, blocker))


def _standing(name: str, own: Mapping[int, str]) -> str:
    if len(own) == 1:
        ((index, state),) = own.items()
        return f"{name}{'' if index < 0 else f'[{index}]'} ({state})"
    done = sum(state in _FINISHED for state in own.values())
    return f"{name} ({done} of {len(own)} finished)"


def after_failures(settled: Explanation, one: InstanceFacts, graph: Graph, states: States) -> Explanation:
    """Return the end of an instance that did not run because tasks above it failed, with these, the nearest first."""
    if one.state != TaskState.UPSTREAM_FAILED or one.task_id not in graph.index:
        return settled
    failed: list[tuple[str, int]] = []
    found = [graph.index[one.task_id]]
    for index in found:  # grows while it is walked: what failed may stand behind others that did not run either
        for above in waited_for(graph, graph.nodes[index]):
            task_id = graph.nodes[above].task.task_id
            own = states.get(task_id, {})
            mine = {one.map_index: own[one.map_index]} if one.map_index in own else own
            failed += [(task_id, at) for at, state in mine.items() if state == TaskState.FAILED]
            if TaskState.UPSTREAM_FAILED in mine.values() and above not in found:
                found.append(above)
    if not failed:
        return settled
    failed = list(dict.fromkeys(failed))
    shown = names([task_id if at < 0 else f"{task_id}[{at}]" for task_id, at in failed])
    first = Blocker(Kind.TASK_INSTANCE, instance_id(one.dag_id, one.run_id, *failed[0]))
    return replace(settled, sentence=f"{settled.sentence}; what failed: {shown}", blocked_by=first)


def unknown_executor(one: InstanceFacts, known: Collection[str]) -> Explanation | None:
    """Return that the task names an executor that is none of the ``known`` ones, if so."""
    if one.executor is None or one.executor in known:
        return None
    close = difflib.get_close_matches(one.executor, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    have = " and ".join(repr(name) for name in sorted(known))
    sentence = f"{one.name} asks for executor {one.executor!r}, but the schedulers here have {have}{hint}"
    return Explanation(Reason.UNKNOWN_EXECUTOR, sentence, Blocker(Kind.EXECUTOR, one.executor))


def held_back(
    me: Candidate, others: Sequence[Waiting], load: Load, limits: Limits
) -> tuple[Refusal | None, Waiting | None]:
    """Return the limit that keeps a scheduled instance back now, and the first before it that wants the same.

    A rival without a limit: what is free goes to those of ``others`` whose turn comes first. ``load`` is used up.
    """
    everyone = [*(one.candidate for one in others), me]
    refused = refusal(me, load, limits)
    if refused is not None:
        before = takewhile(lambda one: one.id != me.id, in_turn(everyone, load.shares, Turns()))
        rivals = {one.id for one in before if _is_rival(one, me, refused.reason)}
        return refused, next((one for one in others if one.candidate.id in rivals), None)
    admitted, then = admit(everyone, load, limits)
    if me.id not in then:
        return None, None
    taking = {one.id for one in admitted if _is_rival(one, me, then[me.id].reason)}
    return None, next((one for one in others if one.candidate.id in taking), None)


def _is_rival(one: Candidate, me: Candidate, lacking: Reason) -> bool:
    """Tell whether ``one`` wants what ``me`` is lacking."""
    match lacking:
        case Reason.PARALLELISM:
            return True
        case Reason.EXECUTOR_FULL:
            return one.executor == me.executor
        case Reason.POOL:
            return one.pool == me.pool
        case Reason.DAG_CAP:
            return one.dag_run_id == me.dag_run_id
        case Reason.TASK_CAP:
            return (one.dag_id, one.task_id) == (me.dag_id, me.task_id)
        case Reason.TASK_CAP_IN_RUN:
            return (one.dag_run_id, one.task_id) == (me.dag_run_id, me.task_id)
    return False


def at_limit(
    one: InstanceFacts, me: Candidate, refused: Refusal, holders: Sequence[Holder], total: int, first: Waiting | None
) -> Explanation:
    """Return which limit keeps a scheduled instance back, who holds it (some of ``total``) and who goes before."""
    held = f"; held by {names([str(holder) for holder in holders], total)}" if holders else ""
    before = f"; {_before(first)} goes first" if first is not None else ""
    sentence = f"{one.name} waits: {refused.sentence}{held}{before}"
    match refused.reason:
        case Reason.POOL | Reason.POOL_MISSING | Reason.POOL_TOO_SMALL:
            blocker = Blocker(Kind.POOL, me.pool)
        case Reason.PARALLELISM:
            blocker = Blocker(Kind.SETTING, "parallelism")
        case Reason.EXECUTOR_FULL:
            blocker = Blocker(Kind.EXECUTOR, me.executor)
        case _ if holders:
            blocker = holders[0].blocker
        case _:
            blocker = Blocker(Kind.DAG, me.dag_id)
    return Explanation(refused.reason, sentence, blocker)


def behind(one: InstanceFacts, first: Waiting, weight: int) -> Explanation:
    """Return that what is free goes to instances before this one."""
    sentence = f"{one.name} (weight {weight}) waits: {_before(first)} goes first and takes what is free"
    return Explanation(Reason.PRIORITY, sentence, _instance_of(first))


def admissible(one: InstanceFacts) -> Explanation:
    """Return that a scheduled instance will be queued."""
    return Explanation(Reason.NEXT_BEAT, f"nothing holds {one.name}: it is queued at the scheduler's next beat")


def _before(first: Waiting) -> str:
    return f"{_instance_of(first).id} (weight {first.weight})"


def _instance_of(one: Waiting) -> Blocker:
    named = instance_id(one.candidate.dag_id, one.run_id, one.candidate.task_id, one.map_index)
    return Blocker(Kind.TASK_INSTANCE, named)


def handed_over(
    one: InstanceFacts, executor: str, *, running: int, slots: int, now: datetime, trouble: str | None = None
) -> Explanation:
    """Return why an attempt that is with its executor has not started.

    ``running`` attempts fill its ``slots``; ``trouble`` is what the executor itself says.
    """
    blocker = Blocker(Kind.EXECUTOR, executor)
    waited = "" if one.queued_at is None else f" for {span((now - one.queued_at).total_seconds())}"
    if one.lease_until is not None and one.lease_until <= now:
        sentence = (
            f"{one.name} is with executor {executor!r}{waited}, which is silent since its lease ended at "
            f"{instant(one.lease_until)}: it goes back to be scheduled at once"
        )
        return Explanation(Reason.EXECUTOR_SILENT, sentence, blocker)
    if trouble is not None:
        sentence = f"{one.name} is with executor {executor!r}{waited}, which cannot start it: {trouble}"
        return Explanation(Reason.EXECUTOR_IN_TROUBLE, sentence, blocker)
    if running >= slots:
        sentence = f"{one.name} waits{waited} for executor {executor!r}, which runs {running} of {slots} attempts"
        return Explanation(Reason.EXECUTOR_FULL, sentence, blocker)
    sentence = f"{one.name} is with executor {executor!r}{waited}, which has {slots - running} of {slots} places free"
    return Explanation(Reason.STARTING, sentence, blocker)


def to_retry(one: InstanceFacts, error: str, now: datetime) -> Explanation:
    """Return when the next try of a failed instance may start; ``error`` is what ended the last one."""
    due = one.next_retry_at
    if due is None or due <= now:
        return Explanation(
            Reason.NEXT_BEAT, f"nothing holds {one.name}: it is tried again at the scheduler's next beat"
        )
    if one.state == TaskState.UP_FOR_RESCHEDULE:
        return Explanation(Reason.RESCHEDULED, f"{one.name} looks again at {ahead(due, now)}", one.blocker, due)
    cause = f" ({error})" if error else ""
    sentence = (
        f"{one.name} failed in try {one.try_number} of {one.max_tries + 1}{cause}; "
        f"try {one.try_number + 1} may start at {ahead(due, now)}"
    )
    return Explanation(Reason.RETRY_DELAY, sentence, one.blocker, due)
