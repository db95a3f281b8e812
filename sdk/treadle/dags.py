"""A DAG: tasks, their order and when they run.

DAG files make one with ``with DAG(...)`` or ``@dag``. The DAG processor turns it into a document
(``treadle.serialization``); servers never see this class. Arguments: ``dag_arguments.py``.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, Unpack

from treadle.authoring import enter_dag, leave_dag, register
from treadle.dag_arguments import CONVERTERS, DEFAULTS, NAMES, RENAMED, DagArguments
from treadle.errors import (
    CycleError,
    DagError,
    DuplicateIdError,
    InvalidArgumentError,
    TaskNotFoundError,
    UnknownArgumentError,
)
from treadle.identifiers import checked_id
from treadle.moments import zone_name
from treadle.operators.arguments import uniform
from treadle.ordering import cycle_in, topological
from treadle.params import NOTSET, DagParam, ParamsDict
from treadle.source import Site, site_here
from treadle.task_groups import TaskGroup
from treadle.tasks import TaskDecorators
from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.deadlines import DeadlineAlert
    from treadle.operators.arguments import Callback, Isolation
    from treadle.operators.base import BaseOperator
    from treadle.runtime.dag_test_result import DagTestResult


class DAG:
    """Tasks, their order and when they run; ``with DAG("id"):`` puts the tasks made inside into it.

    Raises:
        DagError: an argument is unknown or cannot be used; the message names file, line and DAG.
    """

    description: str | None
    schedule: Any
    start_date: datetime | None
    end_date: datetime | None
    template_searchpath: tuple[str, ...]
    template_undefined: type[Any] | None
    user_defined_macros: Mapping[str, Any] | None
    user_defined_filters: Mapping[str, Callable[..., Any]] | None
    max_active_tasks: int | None
    max_active_runs: int | None
    dagrun_timeout: timedelta | None
    catchup: bool | str
    overlap: str
    doc_md: str | None
    is_paused_upon_creation: bool | None
    jinja_environment_kwargs: Mapping[str, Any] | None
    render_template_as_native_obj: bool
    tags: frozenset[str]
    auto_register: bool
    fail_fast: bool
    on_success_callback: tuple[Callback, ...]
    on_failure_callback: tuple[Callback, ...]
    deadline: tuple[DeadlineAlert, ...]
    dag_display_name: str | None
    isolation: Isolation | None
    rerun_with_latest_version: bool | None

    def __init__(self, dag_id: str, **arguments: Unpack[DagArguments]) -> None:
        given: dict[str, Any] = dict(arguments)
        self.fileloc, self.line = site_here()
        self.dag_id = checked_id("DAG", dag_id, self.site)
        self.default_args: dict[str, Any] = dict(given.pop("default_args", None) or {})
        self.params = ParamsDict({**(self.default_args.pop("params", None) or {}), **(given.pop("params", None) or {})})
        for name in given.keys() - NAMES:
            raise UnknownArgumentError(repr(self), name, NAMES, hint=RENAMED.get(name, ""), site=self.site)
        for name in ("start_date", "end_date"):
            if given.get(name) is None:
                given[name] = self.default_args.get(name)
        for name, default in DEFAULTS.items():
            setattr(self, name, uniform(CONVERTERS, name, given[name], self, self.site) if name in given else default)
        self.doc_md = _text_of(self.doc_md, os.path.dirname(self.fileloc))
        self.task_dict: dict[str, BaseOperator] = {}
        self.task_groups: dict[str, TaskGroup] = {}
        self.edge_labels: dict[tuple[str, str], str] = {}
        self._suffixes: dict[str, int] = {}
        self.task_group = TaskGroup.root_of(self)

    @property
    def site(self) -> Site:
        """File and line of the definition."""
        return (self.fileloc, self.line)

    @property
    def timezone(self) -> str:
        """The IANA name of the zone that schedules are read in: the start date's, else UTC."""
        try:
            return zone_name(self.start_date.tzinfo if self.start_date is not None else None)
        except ValueError as reason:
            raise InvalidArgumentError(repr(self), "start_date", self.start_date, str(reason), site=self.site) from None

    @property
    def tasks(self) -> list[BaseOperator]:
        """All tasks in definition order."""
        return list(self.task_dict.values())

    @property
    def task_ids(self) -> list[str]:
        """The ids of all tasks in definition order."""
        return list(self.task_dict)

    @property
    def roots(self) -> list[BaseOperator]:
        """The tasks that wait for none."""
        return [task for task in self.tasks if not task.upstream_task_ids]

    @property
    def leaves(self) -> list[BaseOperator]:
        """The tasks that none waits for."""
        return [task for task in self.tasks if not task.downstream_task_ids]

    @property
    def task(self) -> TaskDecorators:
        """``@dag.task``: the ``@task`` decorators, bound to this DAG."""
        return TaskDecorators(self)

    def get_task(self, task_id: str) -> BaseOperator:
        """Return a task by its id.

        Raises:
            TaskNotFoundError: there is none; says the nearest id.
        """
        try:
            return self.task_dict[task_id]
        except KeyError:
            raise TaskNotFoundError(self.dag_id, task_id, self.task_dict) from None

    def has_task(self, task_id: str) -> bool:
        """Return whether there is a task of that id."""
        return task_id in self.task_dict

    def add_task(self, task: BaseOperator) -> None:
        """Add a task. Tasks made inside the ``with`` block add themselves.

        Raises:
            DuplicateIdError: the id is taken, by a task or a group.
            DagError: the task belongs to another DAG.
        """
        if task.dag is not None and task.dag is not self:
            raise DagError(f"{task!r} belongs to DAG {shown(task.dag.dag_id)} already", site=task.site)
        taken = self.task_dict.get(task.task_id) or self.task_groups.get(task.task_id)
        if taken is task:
            return
        if taken is not None:
            raise DuplicateIdError("task", task.task_id, f"DAG {self.dag_id!r}", first=taken.site, site=task.site)
        task.dag = self
        task.task_group = task.task_group or self.task_group
        task.task_group.children.append(task)
        self.task_dict[task.task_id] = task

    def free_id(self, wanted: str) -> str:
        """Return ``wanted``, or ``wanted__1``, ``wanted__2`` ... whatever no task or group has yet."""
        if wanted not in self.task_dict and wanted not in self.task_groups:
            return wanted
        number = self._suffixes.get(wanted, 0) + 1
        while f"{wanted}__{number}" in self.task_dict or f"{wanted}__{number}" in self.task_groups:
            number += 1
        self._suffixes[wanted] = number
        return f"{wanted}__{number}"

    def param(self, name: str, default: Any = NOTSET) -> DagParam:
        """Return the DAG's param ``name`` as an argument of tasks; ``default`` defines or changes it."""
        return DagParam(self, name, default)

    def topological_sort(self) -> list[BaseOperator]:
        """Return all tasks, each after those it waits for; ties in definition order. CycleError if there is no such."""
        upstream = {task.task_id: frozenset(task.upstream_task_ids) for task in self.tasks}
        order = topological(upstream)
        if len(order) < len(upstream):
            raise CycleError(self.dag_id, cycle_in(upstream), site=self.site)
        return [self.task_dict[task_id] for task_id in order]

    def test(
        self,
        run_after: datetime | None = None,
        logical_date: Any = NOTSET,
        run_conf: Mapping[str, Any] | None = None,
        conn_file_path: str | None = None,
        variable_file_path: str | None = None,
        mark_success_pattern: str | None = None,
        *,
        connections: Mapping[str, Any] | None = None,
        variables: Mapping[str, Any] | None = None,
        triggering_asset_events: Sequence[Any] = (),
        partition_key: str | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> DagTestResult:
        """Run the whole DAG once in this process, without a server, and return its states and XComs.

        See ``treadle.runtime.dag_test.run`` for the arguments and errors.
        """
        # Loaded on need: parsing a file never runs it.
        result: DagTestResult = importlib.import_module("treadle.runtime.dag_test").run(
            self,
            logical_date=logical_date,
            run_after=run_after,
            run_conf=run_conf,
            conn_file_path=conn_file_path,
            variable_file_path=variable_file_path,
            mark_success_pattern=mark_success_pattern,
            connections=connections,
            variables=variables,
            triggering_asset_events=triggering_asset_events,
            partition_key=partition_key,
            answers=answers,
        )
        return result

    def __enter__(self) -> Self:
        enter_dag(self)
        if self.auto_register:
            register(self)
        return self

    def __exit__(self, *_: object) -> None:
        leave_dag()

    def __iter__(self) -> Iterator[BaseOperator]:
        return iter(self.tasks)

    def __repr__(self) -> str:
        return f"DAG {shown(self.dag_id)}"


def _text_of(doc_md: str | None, folder: str) -> str | None:
    if doc_md is None or not doc_md.endswith(".md") or "\n" in doc_md:
        return doc_md
    path = os.path.join(folder, doc_md)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise DagError(f"doc_md={shown(doc_md)} names a file that cannot be read: {error.strerror}") from None
