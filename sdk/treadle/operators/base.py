"""The base of all operators: a task's settings, its place in the DAG and the methods that its kind fills in.

DAG files make operators; the task runtime renders their ``template_fields`` and calls ``execute(context)`` in the
task's own process. Arguments and defaults: ``operators/arguments.py``; how one is made: ``operators/construction.py``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, Unpack

from treadle.authoring import current_dag, is_detached, note_task
from treadle.errors import UnknownArgumentError
from treadle.graph import Node
from treadle.identifiers import checked_id
from treadle.operators.arguments import CONVERTERS, DEFAULTS, Callback, Isolation, OperatorArguments, uniform
from treadle.operators.construction import argument_names, constructing, group_for
from treadle.params import ParamsDict
from treadle.priority import PriorityWeightStrategy
from treadle.rules import TriggerRule, WeightRule
from treadle.wording import shown
from treadle.xcom_arg import XComArg, references_in

if TYPE_CHECKING:
    import logging

    from treadle.dags import DAG
    from treadle.operator_links import BaseOperatorLink
    from treadle.operators.partial import OperatorPartial
    from treadle.retry_policies import RetryPolicy
    from treadle.setup_teardown import SetupTeardownScope
    from treadle.task_groups import TaskGroup
    from treadle.triggers.base import BaseTrigger
    from treadle.triggers.deferral import StartTriggerArgs, TaskDeferred


def scope_marks() -> Any:
    """Return the module of setups and teardowns, loaded on need: most files have none."""
    return importlib.import_module("treadle.setup_teardown")


class BaseOperator(Node):
    """One task. Subclasses name their ``template_fields`` and define ``execute``.

    Raises:
        DagError: an argument is unknown, missing or cannot be used; the message names file, line and task.
    """

    template_fields: Collection[str] = ()
    """Attributes that are rendered before ``execute``; XComArgs inside them make edges."""

    operator_extra_links: Collection[BaseOperatorLink] = ()
    """Links to what the task did elsewhere, made at the end of each attempt."""

    custom_operator_name: ClassVar[str | None] = None
    """The kind of task that is shown to people, if not the class's name."""

    is_mapped: ClassVar[bool] = False

    can_skip: ClassVar[bool] = False
    """Whether an attempt may name tasks to skip, as branches and short circuits do."""

    opens_transaction: ClassVar[bool] = False
    """Whether an attempt asks for its journal and the connection ``conn_id`` first of all."""

    is_setup: bool = False
    is_teardown: bool = False
    on_failure_fail_dagrun: bool = False
    """Of a teardown: whether its failure fails the run."""

    start_trigger_args: StartTriggerArgs | None = None
    """How the task is deferred without a worker, if ``start_from_trigger``."""

    start_from_trigger: bool = False
    """Whether the task is deferred as soon as its turn has come: no worker starts before the event."""

    task_id: str
    dag: DAG | None
    task_group: TaskGroup | None
    params: ParamsDict
    owner: str
    retries: int
    retry_delay: timedelta
    retry_exponential_backoff: float
    max_retry_delay: timedelta | None
    retry_policy: RetryPolicy | None
    start_date: datetime | None
    end_date: datetime | None
    depends_on_past: bool
    ignore_first_depends_on_past: bool
    wait_for_downstream: bool
    priority_weight: int
    weight_rule: WeightRule | PriorityWeightStrategy
    queue: str
    pool: str
    pool_slots: int
    execution_timeout: timedelta | None
    on_execute_callback: tuple[Callback, ...]
    on_success_callback: tuple[Callback, ...]
    on_failure_callback: tuple[Callback, ...]
    on_retry_callback: tuple[Callback, ...]
    on_skipped_callback: tuple[Callback, ...]
    trigger_rule: TriggerRule
    map_index_template: str | None
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    executor: str | None
    executor_config: dict[str, Any]
    do_xcom_push: bool
    multiple_outputs: bool
    doc: str | None
    doc_md: str | None
    doc_json: str | None
    doc_yaml: str | None
    doc_rst: str | None
    task_display_name: str | None
    logger_name: str | None
    allow_nested_operators: bool
    render_template_as_native_obj: bool | None
    isolation: Isolation | None
    inlets: tuple[Any, ...]
    outlets: tuple[Any, ...]
    """The assets that the task reads and updates (``treadle.assets``)."""
    pre_execute_hook: Callable[[Any], Any] | None
    """The argument ``pre_execute``: called with the context, before the method ``pre_execute``."""
    post_execute_hook: Callable[[Any, Any], Any] | None
    """The argument ``post_execute``: called with the context and the result, before the method ``post_execute``."""
    fileloc: str
    line: int
    applied_default_args: Mapping[str, Any]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__init__" in cls.__dict__:
            cls.__init__ = constructing(cls.__dict__["__init__"])  # type: ignore[method-assign]

    @constructing
    def __init__(self, *, task_id: str, **arguments: Unpack[OperatorArguments]) -> None:
        given: dict[str, Any] = dict(arguments)
        self.upstream_task_ids: set[str] = set()
        self.downstream_task_ids: set[str] = set()
        self._place(task_id, given)
        self.pre_execute_hook = given.pop("pre_execute", None)
        self.post_execute_hook = given.pop("post_execute", None)
        self.params = ParamsDict(
            {**(self.applied_default_args.get("params") or {}), **(given.pop("params", None) or {})}
        )
        for name in given.keys() - DEFAULTS.keys():
            raise UnknownArgumentError(repr(self), name, argument_names(type(self)), site=self.site)
        for name, default in DEFAULTS.items():
            setattr(self, name, uniform(CONVERTERS, name, given[name], self, self.site) if name in given else default)
        self.executor_config = dict(self.executor_config or {})
        self.depends_on_past = self.depends_on_past or self.wait_for_downstream

    def _place(self, task_id: str, given: dict[str, Any]) -> None:
        given.pop("default_args", None)
        group = given.pop("task_group", None)
        dag = given.pop("dag", None) or (group.dag if group is not None else current_dag())
        group = group or group_for(dag)
        self.dag, self.task_group = dag, group
        self.label = checked_id("task", task_id, self.site)
        self.task_id = self.label
        if group is not None and not is_detached():
            self.task_id = checked_id("task", group.child_id(self.label), self.site)

    def finish_construction(self) -> None:
        """Add the task to its DAG and make the edges of its arguments. Called once, after the last ``__init__``."""
        if is_detached():
            return
        if self.dag is not None:
            self.dag.add_task(self)
        for reference in self.references():
            self.set_upstream(reference)
        note_task(self)

    def references(self) -> Iterator[XComArg]:
        """Yield the results of other tasks that stand in this task's template fields."""
        for name in self.template_fields:
            yield from references_in(getattr(self, name, None))

    def execute(self, context: Any) -> Any:
        """Do the task's work; the result becomes its XCom. Called in the task's own process."""
        raise NotImplementedError(f"{type(self).__name__} defines no execute(context)")

    def pre_execute(self, context: Any) -> None:
        """Called before ``execute``, after rendering."""

    def post_execute(self, context: Any, result: Any = None) -> None:
        """Called after ``execute`` with its result."""

    def on_kill(self) -> None:
        """Called when the attempt is terminated or timed out: end what ``execute`` started elsewhere."""

    def defer(
        self,
        *,
        trigger: BaseTrigger,
        method_name: str,
        kwargs: Mapping[str, Any] | None = None,
        timeout: timedelta | float | None = None,
    ) -> NoReturn:
        """End the attempt; the task goes on in ``method_name(context, event=..., **kwargs)`` once ``trigger`` fires.

        The worker is free meanwhile. ``timeout`` (seconds or timedelta) counts from now to the event.

        Raises:
            TaskDeferred: always; let it pass.
        """
        # Loaded on need: few tasks wait.
        deferred: type[TaskDeferred] = importlib.import_module("treadle.triggers.deferral").TaskDeferred
        raise deferred(trigger=trigger, method_name=method_name, kwargs=kwargs, timeout=timeout)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Any) -> Any:
        """Go on after a deferral: call ``next_method`` with the context and ``next_kwargs``.

        Raises:
            TaskDeferralTimeout: no event came within the deferral's time.
            TaskDeferralError: the trigger failed.
            TaskTimeout: the task's execution timeout was over first.
        """
        kwargs = next_kwargs or {}
        deferral = importlib.import_module("treadle.triggers.deferral")
        if next_method == deferral.FAIL:
            raise deferral.error_of(kwargs)
        if next_method == deferral.END:
            return importlib.import_module("treadle.runtime.deferring").ended_by(kwargs, context)
        return getattr(self, next_method)(context, **kwargs)

    @classmethod
    def partial(cls, *, task_id: str, **arguments: Any) -> OperatorPartial:
        """Fix some arguments; ``.expand(...)`` or ``.expand_kwargs(...)`` of the result maps the task over others."""
        # Loaded on need: mapped tasks are built upon this module.
        partial: type[OperatorPartial] = importlib.import_module("treadle.operators.partial").OperatorPartial
        return partial(cls, task_id, arguments)

    def as_setup(self) -> Self:
        """Make this task a setup: it prepares what the tasks after it need, and a teardown cleans up.

        Raises:
            DagError: it is a teardown.
        """
        scope_marks().mark_setup(self)
        return self

    def as_teardown(self, *, setups: Any = None, on_failure_fail_dagrun: bool = False) -> Self:
        """Make this task a teardown, of ``setups`` (tasks, results, or a list) and of the setups right before it.

        It runs when all before it has ended, if one of its setups succeeded. Its failure does not fail the run, unless
        ``on_failure_fail_dagrun``.

        Raises:
            DagError: it is a setup.
        """
        scope_marks().mark_teardown(self, setups, on_failure_fail_dagrun)
        return self

    def __enter__(self) -> SetupTeardownScope:
        return scope_marks().enter_scope(self)  # type: ignore[no-any-return]

    def __exit__(self, raised: object, *_: object) -> None:
        scope_marks().leave_scope(raised is not None)

    @property
    def output(self) -> XComArg:
        """The task's result as an argument of other tasks."""
        return XComArg(self)

    @property
    def site(self) -> tuple[str, int]:
        """File and line of the definition."""
        return (self.fileloc, self.line)

    @property
    def roots(self) -> Sequence[BaseOperator]:
        """The task itself."""
        return (self,)

    @property
    def leaves(self) -> Sequence[BaseOperator]:
        """The task itself."""
        return (self,)

    @property
    def mapped_group(self) -> TaskGroup | None:
        """The mapped task group that the task stands in, if it does: it has an instance for each of its items."""
        return self.task_group.mapped_group if self.task_group is not None else None

    @property
    def dag_id(self) -> str:
        """The id of the task's DAG, or an empty string."""
        return self.dag.dag_id if self.dag is not None else ""

    @property
    def task_type(self) -> str:
        """The name of the task's class."""
        return type(self).__name__

    @property
    def operator_name(self) -> str:
        """The kind of task that is shown to people."""
        return self.custom_operator_name or self.task_type

    @property
    def log(self) -> logging.Logger:
        """The task's logger: what it writes goes to the attempt's log."""
        # Loaded on need: files are parsed far more often than tasks are run.
        name = self.logger_name or f"treadle.task.{self.task_type}"
        logger: logging.Logger = importlib.import_module("logging").getLogger(name)
        return logger

    @property
    def upstream_list(self) -> list[BaseOperator]:
        """The direct upstream tasks, sorted by id."""
        return self._relatives(self.upstream_task_ids)

    @property
    def downstream_list(self) -> list[BaseOperator]:
        """The direct downstream tasks, sorted by id."""
        return self._relatives(self.downstream_task_ids)

    def get_direct_relatives(self, upstream: bool = False) -> list[BaseOperator]:
        """Return the direct upstream or downstream tasks, sorted by id."""
        return self.upstream_list if upstream else self.downstream_list

    def get_flat_relatives(self, upstream: bool = False) -> list[BaseOperator]:
        """Return all tasks before or after this one, sorted by id."""
        found: dict[str, BaseOperator] = {}
        waiting = self.get_direct_relatives(upstream)
        while waiting:
            task = waiting.pop()
            if task.task_id not in found:
                found[task.task_id] = task
                waiting.extend(task.get_direct_relatives(upstream))
        return [found[task_id] for task_id in sorted(found)]

    def _relatives(self, task_ids: set[str]) -> list[BaseOperator]:
        return [self.dag.get_task(one) for one in sorted(task_ids)] if self.dag is not None else []

    def __repr__(self) -> str:
        return f"task {shown(self.__dict__.get('task_id', ''))} ({self.operator_name})"
