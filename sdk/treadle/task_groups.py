"""Task groups: tasks that are shown folded, share default_args and can stand on either side of ``>>``."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, overload

from treadle.authoring import current_dag, current_group, enter_group, leave_group
from treadle.callables import docstring
from treadle.errors import DagError, DuplicateIdError
from treadle.graph import Node
from treadle.identifiers import checked_group_id
from treadle.operators.base import BaseOperator
from treadle.source import site_here
from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.expansion import ExpandInput, Mappable
    from treadle.group_mapping import GroupPartial
    from treadle.xcom_arg import ResultArg

P = ParamSpec("P")
R = TypeVar("R")


class TaskGroup(Node):
    """A group of tasks; ``with TaskGroup("load"):`` puts the tasks made inside into it.

    With ``prefix_group_id`` the ids of its tasks and groups begin with its own id and a dot. ``default_args`` lie
    over the parent's. With ``add_suffix_on_collision`` a second group of the same id becomes ``id__1`` and so on.

    Raises:
        DagError: the id cannot be used or is taken, or there is no DAG.
    """

    expand_input: ExpandInput | None = None
    """What the group is mapped over, if it is."""

    def __init__(
        self,
        group_id: str,
        prefix_group_id: bool = True,
        parent_group: TaskGroup | None = None,
        dag: DAG | None = None,
        default_args: Mapping[str, Any] | None = None,
        tooltip: str = "",
        doc_md: str | None = None,
        ui_color: str = "CornflowerBlue",
        ui_fgcolor: str = "#000",
        add_suffix_on_collision: bool = False,
        group_display_name: str = "",
    ) -> None:
        self.site = site_here()
        self.parent_group = parent_group or _open_group(dag)
        self.dag: DAG = _dag_of(group_id, self.parent_group, dag)
        if self.parent_group is None:
            self.parent_group = self.dag.task_group
        self.label = checked_group_id(group_id, self.site)
        self.group_id: str | None = self.parent_group.free_group_id(self.label, self.site, add_suffix_on_collision)
        self.prefix_group_id = prefix_group_id
        self.default_args: dict[str, Any] = {**self.parent_group.default_args, **(default_args or {})}
        self.tooltip, self.doc_md = tooltip, doc_md
        self.ui_color, self.ui_fgcolor = ui_color, ui_fgcolor
        self.group_display_name = group_display_name
        self.children: list[BaseOperator | TaskGroup] = []
        self.parent_group.children.append(self)
        self.dag.task_groups[self.group_id] = self

    @classmethod
    def root_of(cls, dag: DAG) -> TaskGroup:
        """Return the root group of ``dag``, which has no id and holds everything."""
        root = cls.__new__(cls)
        root.site = dag.site
        root.parent_group = root.group_id = root.doc_md = None
        root.dag, root.label, root.tooltip, root.group_display_name = dag, "", "", ""
        root.ui_color, root.ui_fgcolor = "CornflowerBlue", "#000"
        root.prefix_group_id = False
        root.default_args = dag.default_args
        root.children = []
        return root

    @property
    def is_root(self) -> bool:
        """Whether this is the DAG's root group."""
        return self.group_id is None

    @property
    def mapped_group(self) -> TaskGroup | None:
        """The mapped group that this is, or that it stands in."""
        if self.expand_input is not None:
            return self
        return self.parent_group.mapped_group if self.parent_group is not None else None

    def child_id(self, label: str) -> str:
        """Return the full id of a task or group ``label`` of this group."""
        prefix = self._prefix
        return f"{prefix}.{label}" if prefix else label

    @property
    def _prefix(self) -> str:
        if self.prefix_group_id and self.group_id:
            return self.group_id
        return self.parent_group._prefix if self.parent_group is not None else ""

    def free_group_id(self, label: str, site: tuple[str, int], add_suffix: bool) -> str:
        """Return the full id for a new group ``label`` inside this one; DuplicateIdError if it is taken."""
        wanted = self.child_id(label)
        taken = self.dag.task_groups.get(wanted) or self.dag.task_dict.get(wanted)
        if taken is None:
            return wanted
        if not add_suffix:
            raise DuplicateIdError("group", wanted, f"DAG {self.dag.dag_id!r}", first=taken.site, site=site)
        return self.dag.free_id(wanted)

    def tasks(self) -> Iterator[BaseOperator]:
        """Yield the tasks of this group and the groups inside it, in definition order."""
        for child in self.children:
            if isinstance(child, TaskGroup):
                yield from child.tasks()
            else:
                yield child

    @property
    def roots(self) -> Sequence[BaseOperator]:
        """The tasks of the group that wait for none of the group."""
        inside = {task.task_id for task in self.tasks()}
        return [task for task in self.tasks() if not task.upstream_task_ids & inside]

    @property
    def leaves(self) -> Sequence[BaseOperator]:
        """The tasks of the group that none of the group waits for; before a teardown, what it cleans up after.

        What comes after a group waits for its work, not for the cleaning up.
        """
        inside = {task.task_id: task for task in self.tasks()}
        found: dict[str, BaseOperator] = {}
        for task in inside.values():
            if not task.downstream_task_ids & inside.keys():
                _add_leaves(task, inside, found)
        return list(found.values())

    def __enter__(self) -> Self:
        enter_group(self)
        return self

    def __exit__(self, *_: object) -> None:
        leave_group()

    def __repr__(self) -> str:
        return f"task group {shown(self.group_id or '')}"


def _add_leaves(task: BaseOperator, inside: Mapping[str, BaseOperator], found: dict[str, BaseOperator]) -> None:
    """Add ``task``, or in place of a teardown the last tasks of its scope."""
    if not task.is_teardown:
        found[task.task_id] = task
        return
    for task_id in sorted(task.upstream_task_ids & inside.keys()):
        before = inside[task_id]
        followed = any(not inside[one].is_teardown for one in before.downstream_task_ids & inside.keys())
        if not (before.is_setup or followed):
            _add_leaves(before, inside, found)


def _open_group(dag: DAG | None) -> TaskGroup | None:
    group = current_group()
    return group if group is not None and dag in (None, group.dag) else None


def _dag_of(group_id: object, parent: TaskGroup | None, dag: DAG | None) -> DAG:
    found = parent.dag if parent is not None else dag or current_dag()
    if found is None:
        raise DagError(f"task group {shown(group_id)} belongs to no DAG; make it inside 'with DAG(...)' or give dag=")
    return found


class TaskGroupFunction(Generic[P, R]):
    """A function under ``@task_group``: each call makes a group and calls the function inside it.

    A call returns what the function returns, or the group if that is None.
    """

    __name__: str

    def __init__(self, function: Callable[P, R], arguments: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.arguments = dict(arguments)

    def override(self, **arguments: Any) -> TaskGroupFunction[P, R]:
        """Return the same with other group arguments."""
        return TaskGroupFunction(self.function, {**self.arguments, **arguments})

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R | TaskGroup:
        with TaskGroup(**self.group_arguments()) as group:
            result = self.function(*args, **kwargs)
        return group if result is None else result

    def group_arguments(self) -> dict[str, Any]:
        """Return the arguments of the group that a call makes."""
        tooltip = docstring(self.function) or ""
        return {
            "group_id": self.function.__name__, "tooltip": tooltip, "add_suffix_on_collision": True, **self.arguments
        }  # fmt: skip

    def partial(self, **kwargs: Any) -> GroupPartial:
        """Fix some of the function's arguments; ``.expand(...)`` of the result maps the group over others."""
        # Loaded on need: most files map no group.
        partial: type[GroupPartial] = importlib.import_module("treadle.group_mapping").GroupPartial
        return partial(self, kwargs)

    def expand(self, **mapped: Mappable) -> Any:
        """Map the group over every combination of the items of ``mapped`` (see ``GroupPartial.expand``)."""
        return self.partial().expand(**mapped)

    def expand_kwargs(self, kwargs: Sequence[Any] | ResultArg, *, strict: bool = True) -> Any:
        """Map the group over dicts of arguments (see ``GroupPartial.expand_kwargs``)."""
        return self.partial().expand_kwargs(kwargs, strict=strict)


@overload
def task_group(function: Callable[P, R], /) -> TaskGroupFunction[P, R]: ...
@overload
def task_group(
    group_id: str | None = None, /, **arguments: Any
) -> Callable[[Callable[P, R]], TaskGroupFunction[P, R]]: ...
def task_group(function: Any = None, /, **arguments: Any) -> Any:
    """Make each call of the decorated function a task group. Takes the arguments of :class:`TaskGroup`.

    The group's id is the function's name unless ``group_id`` says otherwise; a second call gets ``__1`` and so on.
    """
    if isinstance(function, str):
        arguments["group_id"], function = function, None
    if function is None:
        return lambda one: TaskGroupFunction(one, arguments)
    return TaskGroupFunction(function, arguments)
