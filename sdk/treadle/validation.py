"""What can be wrong with a whole DAG: cycles, dates, params, references to other DAGs, rules that do not go together.

What is wrong with one argument is told when the DAG or task is made. Pools and cron expressions are checked by the
DAG processor, which knows them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from treadle.document import ScheduleDocument
from treadle.errors import CycleError, DagError, InvalidArgumentError, InvalidSchedule, ParamError
from treadle.ordering import cycle_in
from treadle.rules import TriggerRule
from treadle.schedule import schedule_document
from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator


def upstream_of(task: BaseOperator) -> set[str]:
    """Return the ids of the tasks that ``task`` waits for: by ``>>`` and by the results among its arguments."""
    return task.upstream_task_ids | {one.operator.task_id for one in task.references()}


def problems(dag: DAG) -> list[DagError]:
    """Return everything that is wrong with ``dag`` as a whole; empty if it can be stored."""
    return [
        *_schedule_problems(dag),
        *_foreign_references(dag),
        *_cycles(dag),
        *_param_problems(dag),
        *_fail_fast_problems(dag),
        *_setup_problems(dag),
    ]


def _schedule_problems(dag: DAG) -> Iterator[DagError]:
    try:
        document = schedule_document(dag.schedule, dag.timezone)
    except DagError as error:
        yield error
        return
    except InvalidSchedule as reason:
        yield DagError(f"{dag!r}: {reason}", site=dag.site)
        return
    except ValueError as reason:
        yield InvalidArgumentError(repr(dag), "schedule", dag.schedule, str(reason), site=dag.site)
        return
    if dag.start_date is None and (need := _needs_start(dag, document)):
        yield DagError(f"{dag!r} has no start_date, but {need} needs one", site=dag.site)
    if dag.start_date is not None and dag.end_date is not None and dag.end_date < dag.start_date:
        yield InvalidArgumentError(repr(dag), "end_date", dag.end_date, f"{dag.start_date} or later", site=dag.site)
    if document.kind == "continuous" and (dag.max_active_runs or 1) > 1:
        yield InvalidArgumentError(
            repr(dag), "max_active_runs", dag.max_active_runs, "1 with schedule='@continuous'", site=dag.site
        )


def _needs_start(dag: DAG, document: ScheduleDocument) -> str:
    if document.kind in ("none", "once", "continuous"):
        return ""
    if dag.catchup is True:
        return "catchup=True"
    if document.kind == "delta":
        return "a schedule of a fixed span, which is counted from it,"
    return "a schedule of data intervals" if document.style == "interval" else ""


def _foreign_references(dag: DAG) -> Iterator[DagError]:
    for task in dag.tasks:
        for one in task.references():
            if one.operator.dag is not dag:
                other = one.operator.dag_id
                owner = f"DAG {shown(other)}" if other else "no DAG"
                yield DagError(
                    f"{task!r} of {dag!r} uses the result of task {shown(one.operator.task_id)} of {owner}: results "
                    "can be used only within one DAG",
                    site=task.site,
                )


def _cycles(dag: DAG) -> Iterator[DagError]:
    path = cycle_in({task.task_id: frozenset(upstream_of(task)) for task in dag.tasks})
    if path:
        yield CycleError(dag.dag_id, path, site=dag.task_dict[path[0]].site)


def _param_problems(dag: DAG) -> Iterator[DagError]:
    """Yield params whose default does not fit: a scheduled DAG has nobody to give others."""
    scheduled = dag.schedule is not None
    for name, param in dag.params.params().items():
        if not param.has_value and not scheduled:
            continue
        try:
            param.resolve(name=name)
        except ParamError as error:
            yield DagError(f"{dag!r}: {error}", site=dag.site)


def _fail_fast_problems(dag: DAG) -> Iterator[DagError]:
    if not dag.fail_fast:
        return
    for task in dag.tasks:
        if task.trigger_rule is not TriggerRule.ALL_SUCCESS and not task.is_teardown:
            yield InvalidArgumentError(
                repr(task),
                "trigger_rule",
                str(task.trigger_rule),
                "all_success in a DAG with fail_fast=True",
                site=task.site,
            )


def _setup_problems(dag: DAG) -> Iterator[DagError]:
    """Yield tasks that would run although the setup right before them failed (airflow-surface 1.10)."""
    for setup in dag.tasks:
        for task in setup.downstream_list if setup.is_setup else ():
            if not task.is_teardown and task.trigger_rule is not TriggerRule.ALL_SUCCESS:
                yield InvalidArgumentError(
                    repr(task),
                    "trigger_rule",
                    str(task.trigger_rule),
                    f"all_success right after the setup {shown(setup.task_id)}",
                    site=task.site,
                )
