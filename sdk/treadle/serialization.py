"""A DAG as a document: the plain, deterministic form that servers store and read.

The DAG processor's child calls :func:`validate` and :func:`document_of` for each DAG of a file. Nothing in the
document depends on addresses, hash seeds, the clock or the order of sets: what differs between two parses differs
in the file itself (cases B11, G3). Both functions are pure.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from treadle.cluster_models import plain
from treadle.dags import DAG
from treadle.document import AssetDocument, AssetKey, DagDocument, ExpandDocument, GroupDocument, TaskDocument
from treadle.errors import DagError, InvalidArgumentError, InvalidSchedule, ParamError
from treadle.moments import utc_text
from treadle.operators.base import BaseOperator
from treadle.operators.empty import EmptyOperator
from treadle.operators.mapped import MappedOperator
from treadle.ordering import topological
from treadle.params import json_value
from treadle.priority import name_of, weights_of
from treadle.schedule import schedule_document
from treadle.task_groups import TaskGroup
from treadle.validation import problems, upstream_of

__all__ = ["document_of", "problems", "task_document", "validate"]


_ENDS = ("failure", "retry", "skipped", "success")
"""The ends of an attempt that callbacks can be for."""


def validate(dag: DAG) -> None:
    """Raise the first of the DAG's problems, if there is one; notes of the error tell the others.

    Raises:
        DagError: names the file, the line and the thing.
    """
    found = problems(dag)
    if found:
        for other in found[1:10]:
            found[0].add_note(str(other))
        raise found[0]


def document_of(dag: DAG) -> DagDocument:
    """Return the document of ``dag``: tasks in topological order, ties by definition; all sets sorted.

    Call :func:`validate` first: of a DAG with a cycle, the tasks on it are missing.

    Raises:
        DagError: the schedule or an ``executor_config`` has no plain form.
    """
    schedule = _schedule_of(dag)
    upstream = {task.task_id: frozenset(upstream_of(task)) for task in dag.tasks}
    single = schedule.kind == "continuous"
    return DagDocument(
        dag_id=dag.dag_id,
        display_name=dag.dag_display_name,
        description=dag.description,
        doc_md=dag.doc_md,
        tags=tuple(sorted(dag.tags)),
        owners=tuple(sorted({task.owner for task in dag.tasks})),
        schedule=schedule,
        start_date=utc_text(dag.start_date),
        end_date=utc_text(dag.end_date),
        timezone=dag.timezone,
        catchup=dag.catchup,
        overlap=dag.overlap,
        max_active_runs=1 if single else dag.max_active_runs,
        max_active_tasks=dag.max_active_tasks,
        dagrun_timeout_seconds=_seconds(dag.dagrun_timeout),
        fail_fast=dag.fail_fast,
        rerun_with_latest_version=dag.rerun_with_latest_version,
        is_paused_upon_creation=dag.is_paused_upon_creation,
        callbacks=tuple(one for one in ("failure", "success") if getattr(dag, f"on_{one}_callback")),
        deadlines=tuple(one.document() for one in dag.deadline),
        params=dag.params.documents(),
        groups=tuple(map(_group_document, dag.task_groups.values())),
        tasks=tuple(task_document(dag.task_dict[task_id], upstream[task_id]) for task_id in topological(upstream)),
        edge_labels=tuple(sorted((tail, head, label) for (tail, head), label in dag.edge_labels.items())),
        assets=_assets_of(dag, "asset"),
        asset_aliases=_assets_of(dag, "alias"),
        line=dag.line or None,
    )


def task_document(task: BaseOperator, upstream: Iterable[str]) -> TaskDocument:
    """Return the document of one task that waits for ``upstream``."""
    dag = task.dag
    kind = _class_of(task)
    return TaskDocument(
        task_id=task.task_id,
        operator=task.operator_name,
        module=kind.__module__,
        group_id=task.task_group.group_id if task.task_group is not None else None,
        display_name=task.task_display_name,
        owner=task.owner,
        doc_md=_doc(task),
        upstream=tuple(sorted(upstream)),
        trigger_rule=str(task.trigger_rule),
        depends_on_past=task.depends_on_past,
        wait_for_downstream=task.wait_for_downstream,
        ignore_first_depends_on_past=task.ignore_first_depends_on_past,
        start_date=_own_date(task.start_date, dag.start_date if dag else None, max),
        end_date=_own_date(task.end_date, dag.end_date if dag else None, min),
        inlets=_keys(task.inlets),
        outlets=_keys(task.outlets),
        is_empty=_is_empty(task, kind),
        isolation=task.isolation or (dag.isolation if dag else None) or "process",
        template_fields=tuple(task.template_fields),
        expand=_expand(task),
        map_index_template=task.map_index_template,
        can_skip=kind.can_skip,
        is_setup=task.is_setup,
        is_teardown=task.is_teardown,
        setups=_setups(task),
        on_failure_fail_dagrun=task.on_failure_fail_dagrun,
        callbacks=tuple(one for one in _ENDS if getattr(task, f"on_{one}_callback")),
        marks=task.marker() if hasattr(task, "marker") else None,
        start_trigger=_start_trigger(task, kind),
        transaction=_transaction(task, kind),
        extra_links=_extra_links(task, kind),
        line=task.line or None,
        **_retry_fields(task),
        **_queue_fields(task),
    )


def _start_trigger(task: BaseOperator, kind: type[BaseOperator]) -> Any:
    source = kind if isinstance(task, MappedOperator) else task
    if not source.start_from_trigger:
        return None
    # Loaded on need: few tasks start from a trigger.
    deferring: Any = importlib.import_module("treadle.runtime.deferring")
    return deferring.start_of(task, kind, source.start_trigger_args)


def _transaction(task: BaseOperator, kind: type[BaseOperator]) -> str | None:
    if not kind.opens_transaction:
        return None
    named = task.partial_kwargs if isinstance(task, MappedOperator) else vars(task)
    conn_id = named.get("conn_id")
    return conn_id if isinstance(conn_id, str) else None


def _extra_links(task: BaseOperator, kind: type[BaseOperator]) -> tuple[str, ...]:
    if task.operator_extra_links == ():
        return ()
    # Loaded on need: few operators have links.
    linking: Any = importlib.import_module("treadle.operator_links")
    return linking.named_links(kind, task)  # type: ignore[no-any-return]


def _group_document(group: TaskGroup) -> GroupDocument:
    return GroupDocument(
        group_id=group.group_id or "",
        parent=group.parent_group.group_id if group.parent_group is not None else None,
        label=group.group_display_name or group.label,
        tooltip=group.tooltip,
        doc_md=group.doc_md,
        expand=group.expand_input.document() if group.expand_input is not None else None,
    )


def _setups(task: BaseOperator) -> tuple[str, ...]:
    if not task.is_teardown:
        return ()
    return tuple(one.task_id for one in task.upstream_list if one.is_setup)


def _retry_fields(task: BaseOperator) -> dict[str, Any]:
    return {
        "retries": task.retries,
        "retry_delay_seconds": task.retry_delay.total_seconds(),
        "retry_exponential_backoff": task.retry_exponential_backoff,
        "max_retry_delay_seconds": _seconds(task.max_retry_delay),
        "execution_timeout_seconds": _seconds(task.execution_timeout),
    }


def _queue_fields(task: BaseOperator) -> dict[str, Any]:
    return {
        "pool": task.pool,
        "pool_slots": task.pool_slots,
        "priority_weight": task.priority_weight,
        "weight_rule": name_of(task.weight_rule),
        "weights": weights_of(task),
        "queue": task.queue,
        "executor": task.executor,
        "executor_config": _plain_config(task),
        "max_active_tis_per_dag": task.max_active_tis_per_dag,
        "max_active_tis_per_dagrun": task.max_active_tis_per_dagrun,
    }


def _schedule_of(dag: DAG) -> Any:
    try:
        return schedule_document(dag.schedule, dag.timezone)
    except DagError:
        raise
    except InvalidSchedule as reason:
        raise DagError(f"{dag!r}: {reason}", site=dag.site) from None
    except ValueError as reason:
        raise InvalidArgumentError(repr(dag), "schedule", dag.schedule, str(reason), site=dag.site) from None


def _class_of(task: BaseOperator) -> type[BaseOperator]:
    return task.operator_class if isinstance(task, MappedOperator) else type(task)


def _expand(task: BaseOperator) -> ExpandDocument | None:
    return task.expand_input.document() if isinstance(task, MappedOperator) else None


def _is_empty(task: BaseOperator, kind: type[BaseOperator]) -> bool:
    """Return whether there is nothing for a worker to do (airflow-surface 4.2)."""
    return (
        issubclass(kind, EmptyOperator)
        and kind.execute is EmptyOperator.execute
        and kind.pre_execute is BaseOperator.pre_execute
        and kind.post_execute is BaseOperator.post_execute
        and not (task.pre_execute_hook or task.post_execute_hook)
        and not (task.on_execute_callback or task.on_success_callback)
        and not (task.inlets or task.outlets or task.operator_extra_links)
    )


def _keys(named: Iterable[Any]) -> tuple[AssetKey, ...]:
    return tuple(sorted({one.key for one in named}))


def _assets_of(dag: DAG, kind: str) -> tuple[AssetDocument, ...]:
    """Return the assets, or the aliases, that the DAG's schedule and tasks define; references define none."""
    named = [one for task in dag.tasks for one in (*task.inlets, *task.outlets)]
    if hasattr(dag.schedule, "named"):
        named += dag.schedule.named()
    elif isinstance(dag.schedule, (list, tuple, set, frozenset)):
        named += [one for part in dag.schedule for one in part.named()]
    defined = {one.key: one.document() for one in reversed(named) if one.key[0] == kind and hasattr(one, "document")}
    return tuple(defined[key] for key in sorted(defined))


def _doc(task: BaseOperator) -> str | None:
    return task.doc_md or task.doc or task.doc_rst or task.doc_json or task.doc_yaml


def _own_date(own: datetime | None, of_dag: datetime | None, stricter: Any) -> str | None:
    """Return the task's date where it narrows the DAG's, else None."""
    if own is None or (of_dag is not None and stricter(own, of_dag) == of_dag):
        return None
    return utc_text(own)


def _plain_config(task: BaseOperator) -> Mapping[str, Any]:
    try:
        return json_value("executor_config", plain(task.executor_config))  # type: ignore[no-any-return]
    except ParamError as error:
        raise DagError(f"{task!r}: executor_config cannot be stored: {error.reason}", site=task.site) from None


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()
