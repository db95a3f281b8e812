"""Runs a whole DAG, or one task, in this process: what ``DAG.test()``, ``dags test`` and ``tasks test`` do.

There is no server, no database, no side effect on any (cases G10, G12, G13), and nothing waits: a retry comes at
once. Tasks run one after the other in topological order, by the same trigger rules and the same task runtime as in
production, and what they print and log is masked. The answer tells every state and XCom, for tests to assert on.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from treadle import xcom
from treadle.params import NOTSET, checked_conf
from treadle.runtime.dag_test_result import DagTestResult, TaskResult
from treadle.runtime.local_supervisor import LocalSupervisor, connections_of, stamped, variables_of
from treadle.runtime.masked_output import masked_output
from treadle.runtime.run_callback import call_run_callbacks
from treadle.runtime.run_in_memory import RunInMemory
from treadle.runtime.run_task import Limits
from treadle.runtime.task_instance import UNMAPPED

if TYPE_CHECKING:
    from treadle.dags import DAG


def run(
    dag: DAG,
    *,
    logical_date: datetime | Any | None = NOTSET,
    run_after: datetime | None = None,
    run_conf: Mapping[str, Any] | None = None,
    conn_file_path: str | None = None,
    variable_file_path: str | None = None,
    connections: Mapping[str, Any] | None = None,
    variables: Mapping[str, Any] | None = None,
    mark_success_pattern: str | None = None,
    triggering_asset_events: Sequence[Any] = (),
    partition_key: str | None = None,
    answers: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> DagTestResult:
    """Run ``dag`` once and return its states and XComs; a task that fails is told in the answer, not raised.

    ``logical_date`` is now if not given; None makes a run without one. ``connections`` (Connection, dict of fields,
    URI or JSON) and ``variables`` come before the files (JSON, YAML or lines of NAME=VALUE in ``.env``), these before
    the environment. Tasks whose id matches ``mark_success_pattern`` succeed without being run.
    ``triggering_asset_events`` are the events that the run is made of, each an ``Asset`` or ``Metadata(asset, extra)``;
    such a run has no logical date unless one is given. ``partition_key`` is the run's partition.
    ``answers`` are those of people, by ids of human steps: an option, several, or ``{"chosen": ..., "given": ...}``.

    Raises:
        ParamError: ``run_conf`` does not fit the DAG's params.
        CycleError: the DAG has a cycle.
    """
    supervisor = LocalSupervisor(
        variables_of(variables, variable_file_path), connections_of(connections, conn_file_path)
    )
    supervisor.answers = dict(answers or {})
    if triggering_asset_events and logical_date is NOTSET:
        logical_date = None
    facts = run_facts(dag, logical_date=logical_date, run_after=run_after, run_conf=run_conf)
    facts["partition_key"] = partition_key
    if triggering_asset_events:
        facts["run_type"] = "asset_triggered"
        # Loaded on need, as few tests have to do with assets.
        given = importlib.import_module("treadle.runtime.asset_events").given_event
        supervisor.triggering = [stamped(given(one), {}) for one in triggering_asset_events]
    order = dag.topological_sort()
    test = RunInMemory(dag, facts, supervisor, limits or Limits(), mark_success_pattern)
    with supervisor.given(), masked_output():
        for task in order:
            test.run_task(task)
        result = test.result()
        call_run_callbacks(dag, facts, result.state, supervisor)
    return result


def run_single(
    dag: DAG,
    task_id: str,
    *,
    map_index: int = UNMAPPED,
    logical_date: datetime | Any | None = NOTSET,
    run_conf: Mapping[str, Any] | None = None,
    xcoms: Mapping[str, Any] | None = None,
    conn_file_path: str | None = None,
    variable_file_path: str | None = None,
    connections: Mapping[str, Any] | None = None,
    variables: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> TaskResult:
    """Run one try of one task, whatever it waits for; ``xcoms`` gives the results of other tasks by their ids.

    Of a mapped task, or one in a mapped group, ``map_index`` says which instance (the first, if not given); results of
    tasks of the same mapped group are those of that instance.

    Raises:
        TaskNotFoundError: the DAG has no such task.
        ParamError: ``run_conf`` does not fit the DAG's params.
        LookupError: the mapped task has no instance ``map_index``.
    """
    task = dag.get_task(task_id)
    supervisor = LocalSupervisor(
        variables_of(variables, variable_file_path), connections_of(connections, conn_file_path)
    )
    index_of_instance = max(map_index, 0) if task.is_mapped or task.mapped_group is not None else UNMAPPED
    for name, value in (xcoms or {}).items():
        given = dag.get_task(name)
        beside = given.mapped_group is not None and given.mapped_group is task.mapped_group
        has_many = given.is_mapped or (given.mapped_group is not None and not beside)
        if has_many:
            supervisor.ran(name, len(value))
        for index, item in enumerate(value) if has_many else [(index_of_instance if beside else UNMAPPED, value)]:
            supervisor.keep(name, index, [{"key": xcom.RETURN_KEY, "value": xcom.dumps(item)[0]}])
    facts = run_facts(dag, logical_date=logical_date, run_after=None, run_conf=run_conf)
    test = RunInMemory(dag, facts, supervisor, limits or Limits())
    with supervisor.given(), masked_output():
        return test.run_one(task, index_of_instance)


def run_facts(
    dag: DAG, *, logical_date: Any, run_after: datetime | None, run_conf: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the facts of a manual run (``treadle_worker.protocol.RunFacts``), its conf checked.

    Raises:
        ParamError: ``run_conf`` does not fit the DAG's params.
    """
    now = datetime.now(UTC)
    date = _utc((run_after or now) if logical_date is NOTSET else logical_date)
    after = _utc(run_after) or date or now
    conf = dict(run_conf or {})
    checked_conf(dag.params.documents(), conf)
    start, end = _interval(dag, date)
    return {
        "run_id": f"manual__{(date or after).isoformat()}",
        "run_type": "manual",
        "logical_date": _text(date),
        "data_interval_start": _text(start),
        "data_interval_end": _text(end),
        "run_after": after.isoformat(),
        "start_date": now.isoformat(),
        "conf": conf,
        "triggered_by": "test",
        "clear_number": 0,
    }


def _interval(dag: DAG, date: datetime | None) -> tuple[datetime | None, datetime | None]:
    if date is None or dag.schedule is None:
        return date, date
    # Timetables load croniter, which a DAG without a schedule does not need.
    timetable = importlib.import_module("treadle.timetables.at_hand").timetable_of(dag.schedule, dag.timezone)
    interval = timetable.infer_manual_data_interval(run_after=date)
    return interval.start, interval.end


def _utc(date: datetime | None) -> datetime | None:
    if date is None:
        return None
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)


def _text(date: datetime | None) -> str | None:
    return None if date is None else date.isoformat()
