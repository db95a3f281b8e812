"""Tasks of a DAG, from its document."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from typing_extensions import TypedDict

from treadle.document import DagDocument, TaskDocument
from treadle.mapped_tasks import mapped_tasks
from treadle_webserver.shapes.times import TimeDeltaShape, time_delta


class ClassReferenceShape(TypedDict):
    """Where the operator's class is."""

    module_path: str
    class_name: str


class TaskShape(TypedDict):
    """One task."""

    task_id: str
    task_display_name: str
    owner: str
    start_date: str | None
    end_date: str | None
    trigger_rule: str
    depends_on_past: bool
    wait_for_downstream: bool
    retries: float
    queue: str
    pool: str
    pool_slots: float
    execution_timeout: TimeDeltaShape | None
    retry_delay: TimeDeltaShape | None
    retry_exponential_backoff: float
    priority_weight: float
    weight_rule: str
    ui_color: str | None
    ui_fgcolor: str | None
    template_fields: list[str]
    downstream_task_ids: list[str]
    doc_md: str | None
    operator_name: str
    params: dict[str, Any]
    class_ref: ClassReferenceShape
    is_mapped: bool
    extra_links: list[str]


class TaskListShape(TypedDict):
    """All tasks of a DAG."""

    tasks: list[TaskShape]
    total_entries: int


def task_shapes(document: DagDocument) -> list[TaskShape]:
    """Return the tasks of ``document``, in topological order."""
    downstream: defaultdict[str, list[str]] = defaultdict(list)
    for task in document.tasks:
        for upstream in task.upstream:
            downstream[upstream].append(task.task_id)
    mapped = mapped_tasks(document)
    return [
        _task_shape(task, document, sorted(downstream[task.task_id]), is_mapped=task.task_id in mapped)
        for task in document.tasks
    ]


def _task_shape(task: TaskDocument, document: DagDocument, downstream: list[str], *, is_mapped: bool) -> TaskShape:
    return {
        "task_id": task.task_id,
        "task_display_name": task.display_name or task.task_id,
        "owner": task.owner,
        "start_date": task.start_date or document.start_date,
        "end_date": task.end_date or document.end_date,
        "trigger_rule": task.trigger_rule,
        "depends_on_past": task.depends_on_past,
        "wait_for_downstream": task.wait_for_downstream,
        "retries": task.retries,
        "queue": task.queue,
        "pool": task.pool,
        "pool_slots": task.pool_slots,
        "execution_timeout": time_delta(task.execution_timeout_seconds),
        "retry_delay": time_delta(task.retry_delay_seconds),
        "retry_exponential_backoff": task.retry_exponential_backoff,
        "priority_weight": task.priority_weight,
        "weight_rule": task.weight_rule,
        "ui_color": None,
        "ui_fgcolor": None,
        "template_fields": list(task.template_fields),
        "downstream_task_ids": downstream,
        "doc_md": task.doc_md,
        "operator_name": task.operator,
        "params": {},
        "class_ref": {"module_path": task.module, "class_name": task.operator},
        "is_mapped": is_mapped,
        "extra_links": list(task.extra_links),
    }
