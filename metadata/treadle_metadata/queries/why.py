"""Why is it not running? One answer for a task instance, a run or a DAG (specification section 19; case H5).

Called by the web server and the commands. It reads what the answer needs, some eight statements at most, and lets the
pure functions of ``treadle_metadata.deciding`` answer with the scheduler's own decisions. Nothing is written.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from treadle import partition_documents as partitions
from treadle.document import AssetCondition, loads
from treadle_metadata import admission, planning
from treadle_metadata.branches import named_in
from treadle_metadata.deciding import why_assets, why_dag, why_run, why_task, why_triggers, why_waits
from treadle_metadata.deciding.graph import Graph, compile_graph
from treadle_metadata.deciding.past import open_before, watched_tasks
from treadle_metadata.deciding.readiness import verdict
from treadle_metadata.deciding.reasons import Blocker, Explanation, Kind, Reason
from treadle_metadata.deciding.snapshot import Snapshot, rows_of
from treadle_metadata.deciding.why_dag import DagFacts
from treadle_metadata.deciding.why_task import InstanceFacts
from treadle_metadata.deciding.wording import names
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries import assets, triggers, waits
from treadle_metadata.queries import why_facts as facts
from treadle_metadata.queries.callbacks import failed_callback
from treadle_metadata.queries.dags import DagFilter, matching_ids, no_such_dag
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.why_facts import Row
from treadle_metadata.rights.scoped_views import everywhere
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_metadata.states import RunState, TaskState

_ENDS: Final[dict[str, str]] = {TaskState.SKIPPED: "skip", TaskState.UPSTREAM_FAILED: "upstream_fail"}


def why_is_dag_not_running(connection: Connection, dag_id: str, *, now: datetime, settings: Settings) -> Explanation:
    """Return why a DAG gets or starts no run at this moment.

    Raises:
        NotFoundError: there is no such DAG, and no file with an import error that might define it.
    """
    dag = facts.dag_facts(connection, dag_id, settings, now)
    if dag is None:
        return _unknown_dag(connection, dag_id)
    scheduler = facts.scheduler_facts(connection, now)
    found = why_dag.in_the_way(dag, scheduler, now)
    if found is not None:
        return found
    waiting = facts.oldest_waiting_run(connection, dag_id, now)
    if waiting is not None:
        return _queued_run(connection, dag, waiting, now, settings)
    return why_dag.next_run(dag, now) if dag.condition is None else _by_assets(connection, dag, dag.condition, now)


def _by_assets(connection: Connection, dag: DagFacts, condition: AssetCondition, now: datetime) -> Explanation:
    """Answer for a DAG that assets schedule; where the clock does, too, the answer tells both."""
    if dag.partitions:
        begun = assets.begun_partitions(connection, dag.dag_id)
        found = why_assets.waiting_for_partitions(dag, condition, partitions.loads(dag.partitions), begun)
    else:
        found = why_assets.waiting(dag, condition, *assets.parts_of_schedule(connection, dag.dag_id))
    if found.reason is Reason.ASSETS:
        found = why_assets.with_troubles(found, triggers.failing_watchers_of(connection, dag.dag_id))
    if dag.next_run_at is None or found.reason is not Reason.ASSETS:
        return found
    timed = why_dag.next_run(dag, now)
    return replace(timed, sentence=f"{timed.sentence}; by its assets, {found.sentence}")


def why_is_run_not_running(
    connection: Connection, dag_id: str, run_id: str, *, now: datetime, settings: Settings
) -> Explanation:
    """Return why a run has not started, or what the one that has started waits for.

    Raises:
        NotFoundError: there is no such DAG or run.
    """
    run = get_run(connection, dag_id, run_id)
    dag = _dag_of(connection, run, settings, now)
    if run["state"] == RunState.QUEUED:
        return _queued_run(connection, dag, run, now, settings)
    if run["state"] != RunState.RUNNING:
        return why_run.finished(facts.run_facts(run), failed_callback(connection, run["id"]))
    fault = _not_advanced(connection, run)
    if fault is not None:
        return fault
    row = facts.telling_instance(connection, run)
    if row is None:
        found = why_dag.no_scheduler(facts.scheduler_facts(connection, now), now)
        return found or Explanation(
            Reason.NEXT_BEAT, f"all tasks of run {run_id!r} have ended: it ends at the next beat"
        )
    return _instance(connection, dag, run, row, now, settings)


def why_is_task_not_running(
    connection: Connection,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int = -1,
    *,
    now: datetime,
    settings: Settings,
) -> Explanation:
    """Return why a task instance does not run; ``map_index`` -1 of a mapped task means the first that waits.

    Raises:
        NotFoundError: there is no such DAG, run, task or index.
    """
    run = get_run(connection, dag_id, run_id)
    dag = _dag_of(connection, run, settings, now)
    found = facts.instance_rows(connection, run, task_id, map_index)
    if found:
        return _instance(connection, dag, run, found[0], now, settings)
    graph = _graph(connection, run["version_id"])
    if task_id not in graph.index:
        return _not_in_version(connection, dag, run, task_id, graph)
    if run["state"] == RunState.QUEUED:
        return _queued_run(connection, dag, run, now, settings)
    raise NotFoundError(f"task instance of run {run_id!r} of DAG {dag_id!r}", _indexed(task_id, map_index))


def _dag_of(connection: Connection, run: Row, settings: Settings, now: datetime) -> DagFacts:
    dag = facts.dag_facts(connection, run["dag_id"], settings, now)
    if dag is None:
        raise no_such_dag(connection, run["dag_id"])
    return dag


def _unknown_dag(connection: Connection, dag_id: str) -> Explanation:
    """Answer for a DAG that was never stored: its file may be one that cannot be imported."""
    known = matching_ids(connection, DagFilter(active=None))
    broken = facts.files_with_errors(connection)
    if not broken or difflib.get_close_matches(dag_id, known, n=1):
        raise no_such_dag(connection, dag_id)
    likely = [one for one in broken if dag_id in one[0]] or broken
    listed = names([f"{file}: {error}" for file, error in likely])
    sentence = f"there is no DAG {dag_id!r} yet, and some files cannot be imported: {listed}"
    return Explanation(Reason.IMPORT_ERROR, sentence, Blocker(Kind.DAG_FILE, likely[0][0]))


def _not_in_version(connection: Connection, dag: DagFacts, run: Row, task_id: str, graph: Graph) -> Explanation:
    """Answer for a task that the version of its run does not have."""
    newest = rows(connection, "SELECT version_id FROM dag WHERE dag_id = %(dag_id)s", {"dag_id": dag.dag_id})
    number = run["version_number"]
    if newest[0]["version_id"] != run["version_id"] and task_id in _graph(connection, newest[0]["version_id"]).index:
        sentence = (
            f"task {task_id!r} is in version {dag.version_number} of DAG {dag.dag_id!r}, but run {run['run_id']!r} "
            f"stays on version {number}, which lacks it"
        )
        return Explanation(Reason.OTHER_VERSION, sentence, Blocker(Kind.DAG_VERSION, f"{dag.dag_id}/{number}"))
    broken = why_dag.broken(dag)
    if broken is None or difflib.get_close_matches(task_id, graph.index, n=1):
        raise NotFoundError(f"task of version {number} of DAG {dag.dag_id!r}", task_id, graph.index)
    return replace(broken, sentence=f"task {task_id!r} is not in version {number}: {broken.sentence}")


def _queued_run(connection: Connection, dag: DagFacts, run: Row, now: datetime, settings: Settings) -> Explanation:
    fault = _not_advanced(connection, run)
    if fault is not None:
        return fault
    room, backfill_is_paused = facts.room_for(connection, run, settings, now)
    scheduler = facts.scheduler_facts(connection, now)
    one = facts.run_facts(run, backfill_is_paused=backfill_is_paused)
    return why_run.queued(dag, one, room, scheduler, now)


def _instance(
    connection: Connection, dag: DagFacts, run: Row, row: Row, now: datetime, settings: Settings
) -> Explanation:
    one = facts.instance_facts(row, run["run_id"])
    settled = why_task.settled(one, _cause(connection, run, row, one))
    if settled is not None:
        if one.state == TaskState.UPSTREAM_FAILED:
            graph = _graph(connection, run["version_id"])
            return why_task.after_failures(settled, one, graph, _snapshot(connection, run, graph)[1])
        wait = waits.sensor_of(connection, row) if settled.reason is Reason.RUNNING else None
        return settled if wait is None else why_waits.poking(settled, wait)
    if run["state"] == RunState.QUEUED:
        return _queued_run(connection, dag, run, now, settings)
    if run["state"] != RunState.RUNNING:
        return why_run.finished(facts.run_facts(run))
    # What is with an executor already starts, paused or not.
    found = None if one.state == TaskState.QUEUED else why_dag.stopped(dag)
    found = found or why_dag.no_scheduler(facts.scheduler_facts(connection, now), now)
    return found or _by_state(connection, run, row, one, now, settings)


def _cause(connection: Connection, run: Row, row: Row, one: InstanceFacts) -> str:
    """Return why an instance ended as it did: the error of its last try, or what its trigger rule says."""
    if one.waiting_for is not None or one.state not in (TaskState.FAILED, TaskState.SKIPPED, TaskState.UPSTREAM_FAILED):
        return one.waiting_for or ""
    if one.try_number:
        return _error(facts.attempt_facts(connection, row))
    graph = _graph(connection, run["version_id"])
    if one.state == TaskState.FAILED or one.task_id not in graph.index:
        return ""
    snapshot, _ = _snapshot(connection, run, graph)
    node = graph.index[one.task_id]
    if snapshot.is_left_out(node, one.map_index + 1):
        return "a branch or short circuit left it out"
    found = verdict(snapshot, graph.nodes[node], one.map_index + 1)
    if found.action == _ENDS[one.state]:
        return found.reason.removeprefix(f"{one.state}: ")
    # A rule that would not skip it was not asked. One that lets it run says nothing: what is above has run again since.
    by_hand = one.state == TaskState.SKIPPED and found.action != "run"
    return "it had not started when its run was ended, or when somebody marked it" if by_hand else ""


def _error(attempt: Row) -> str:
    """Return the error of an attempt as one line."""
    text = ": ".join(part for part in (attempt["type"], attempt["message"]) if part)
    policy = f"; its retry policy: {attempt['retry_reason']}" if attempt["retry_reason"] else ""
    return next(iter(text.splitlines()), "") + policy


def _by_state(
    connection: Connection, run: Row, row: Row, one: InstanceFacts, now: datetime, settings: Settings
) -> Explanation:
    match TaskState(one.state):
        case TaskState.NONE:
            return _not_advanced(connection, run) or _undecided(connection, run, one)
        case TaskState.SCHEDULED:
            return _scheduled(connection, row, one, now, settings)
        case TaskState.QUEUED:
            return _queued(connection, row, one, now, settings)
        case TaskState.UP_FOR_RETRY | TaskState.UP_FOR_RESCHEDULE:
            return _to_retry(connection, row, one, now)
        case _:
            return why_triggers.deferred(one, triggers.wait_of(connection, one.id, now=now), now)


def _to_retry(connection: Connection, row: Row, one: InstanceFacts, now: datetime) -> Explanation:
    question = waits.question_of(connection, row)
    if question is not None and one.state == TaskState.UP_FOR_RESCHEDULE:
        return why_waits.asking(one, question, now)
    found = why_task.to_retry(one, _error(facts.attempt_facts(connection, row)), now)
    if found.reason is not Reason.RESCHEDULED:
        return found
    wait = waits.sensor_of(connection, row)
    if wait is not None:
        return why_waits.looking_again(found, wait)
    step = waits.step_of(connection, row)
    return found if step is None else why_waits.suspended(one, step, found, now)


def _not_advanced(connection: Connection, run: Row) -> Explanation | None:
    """Return that the scheduler could not advance the run when it tried last, if that is so."""
    told = facts.warning_of(connection, run["dag_id"], planning.EVALUATION)
    if told is None or not told.startswith(planning.not_advanced(run["run_id"], "")):
        return None
    return Explanation(Reason.EVALUATION_ERROR, f"{told}; it is tried again later", Blocker(Kind.DAG, run["dag_id"]))


def _undecided(connection: Connection, run: Row, one: InstanceFacts) -> Explanation:
    graph = _graph(connection, run["version_id"])
    index = graph.index.get(one.task_id)
    if index is None:
        return why_task.not_in_version(one, run["version_number"])
    if index in graph.past_dependent:
        past = planning.past_states(connection, [run["id"]], sorted(watched_tasks(graph))).get(run["id"], {})
        still_open = open_before(graph, index, past)
        before = facts.run_before(connection, run)
        if still_open and before is not None:
            downstream_too = one.task_id not in still_open
            return why_task.before_run(one, before, still_open, downstream_too=downstream_too)
    return why_task.undecided(one, *_snapshot(connection, run, graph))


def _scheduled(connection: Connection, row: Row, one: InstanceFacts, now: datetime, settings: Settings) -> Explanation:
    unknown = why_task.unknown_executor(one, facts.executors(connection, settings, now))
    if unknown is not None:
        return unknown
    # How full pools and executors are, all may know; whose work is in them, not.
    with everywhere(connection):
        load, limits, _ = admission.held(connection, settings)
    mine, others = facts.ready_with(connection, row, settings, limits.pools)
    me = mine.candidate
    admission.add_engaged(connection, load, {me.dag_id, *(one.candidate.dag_id for one in others)})
    refused, first = why_task.held_back(me, others, load, limits)
    if refused is not None:
        held, total, all_wait = facts.holders(connection, me, refused.reason, settings)
        found = why_task.at_limit(one, me, refused, held, total, first)
        return why_waits.held_by_sensors(found) if all_wait and found.reason is Reason.POOL else found
    return why_task.admissible(one) if first is None else why_task.behind(one, first, mine.weight)


def _queued(connection: Connection, row: Row, one: InstanceFacts, now: datetime, settings: Settings) -> Explanation:
    executor = facts.attempt_facts(connection, row)["executor"] or settings.executor
    known = facts.executors(connection, settings, now)
    unknown = why_task.unknown_executor(replace(one, executor=executor), known)
    if unknown is not None:
        return unknown
    with everywhere(connection):
        running, schedulers = facts.running_in(connection, executor, now)
    slots = settings.parallelism * schedulers
    trouble = known[executor].get(None) or known[executor].get(row["queue"])
    return why_task.handed_over(one, executor, running=running, slots=slots, now=now, trouble=trouble)


def _graph(connection: Connection, version_id: int) -> Graph:
    sql = "SELECT document FROM dag_version WHERE id = %(id)s"
    (version,) = rows(connection, sql, {"id": version_id})
    return compile_graph(loads(version["document"]), version_id=version_id)


def _snapshot(connection: Connection, run: Row, graph: Graph) -> tuple[Snapshot, why_task.States]:
    """Return what a scheduler that decides on the run sees of it, and the states as they are called."""
    found = rows_of(planning.instance_states(connection, [run["id"]], month=run["month"])).get(run["id"], [])
    snapshot = Snapshot(graph, found)
    named = named_in(connection, {run["id"]: snapshot}, month=run["month"])
    for task_id, map_index, left_out in named.get(run["id"], ()):
        snapshot.leave_out(graph.index[task_id], map_index, left_out)
    states: dict[str, dict[int, str]] = {}
    for task_id, map_index, state in found:
        states.setdefault(task_id, {})[map_index] = state
    return snapshot, states


def _indexed(task_id: str, map_index: int) -> str:
    return task_id if map_index < 0 else f"{task_id}[{map_index}]"
