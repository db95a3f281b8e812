"""Fetches the results of other tasks that stand in a task's arguments, all of them with one question.

The task runtime makes a :class:`Results` per attempt, lets it :meth:`~Results.fetch` what the task refers to, and
hands it to the arguments as their ``Resolver``. What is needed beyond that (a result within a mapped dict, the next
page of a long one) is asked for when it is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treadle import xcom
from treadle.expansion import ExpandInput, indexes_of
from treadle.resolvable import resolvables_in
from treadle.runtime.lazy_results import BulkItems, LazyResults, elements_of, first_page
from treadle.runtime.supervisor import Supervisor, XComFound, XComQuestion
from treadle.xcom_arg import ResultArg, XComArg, references_in

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator
    from treadle.operators.mapped import MappedOperator
    from treadle.task_groups import TaskGroup


class Results:
    """Answers what a task's arguments ask (``treadle.resolvable.Resolver``).

    Within a mapped group ``map_index`` is the instance that asks: of the tasks of its own ``group`` it gets the results
    of that instance, of those of another mapped group all results, as of a mapped task.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        params: Callable[[], Mapping[str, Any]],
        group: TaskGroup | None = None,
        map_index: int = -1,
        group_indexes: Sequence[int] | None = None,
    ) -> None:
        self._supervisor = supervisor
        self._params = params
        self._group = group
        self._map_index = map_index
        self._group_indexes = group_indexes
        self._found: dict[XComQuestion, Sequence[XComFound]] = {}

    def fetch(self, task: BaseOperator) -> None:
        """Ask for everything that the arguments of ``task`` refer to, at once."""
        wanted = {self._whole(one) for one in task.references()}
        if self._group_indexes is not None:
            for name in task.template_fields:
                for one in resolvables_in(getattr(task, name, None)):
                    wanted |= {self._element(*pair) for pair in one.group_items(self._group_indexes)}
        self._ask(wanted)

    def fetch_items(self, task: MappedOperator, indexes: Sequence[int]) -> None:
        """Ask for everything that instance ``indexes`` of a mapped task refers to, at once: of a list one element."""
        wanted = {self._whole(one) for one in references_in(task.partial_kwargs)}
        for argument, index in zip(task.expand_input.arguments.values(), indexes, strict=True):
            if isinstance(argument, ResultArg):
                wanted |= {self._element(*one) for one in argument.items_wanted(index)}
            else:
                item = list(argument.items())[index] if isinstance(argument, dict) else argument[index]
                wanted |= {self._whole(one) for one in references_in(item)}
        self._ask(wanted)

    def indexes_of(self, expand_input: ExpandInput, map_index: int) -> list[int]:
        """Return which item of each argument instance ``map_index`` gets, where the workload does not say.

        Raises:
            LookupError: it depends on the length of a result that cannot be mapped over.
        """
        _, *others = expand_input.arguments.values()
        # The first argument changes slowest, so its length does not matter.
        lengths = [one.length(self) if isinstance(one, ResultArg) else len(one) for one in others]
        return indexes_of(map_index, [map_index + 1, *lengths])

    def value(self, reference: XComArg) -> Any:
        """Return the pushed value; for a mapped upstream task all its values, fetched in pages when they are read."""
        question = self._whole(reference)
        found = self._get(question)
        if self._has_many(reference):
            return LazyResults(self._supervisor, question, found)
        return xcom.loads(found[0].value) if found else None

    def item(self, reference: XComArg, index: int) -> Any:
        """Return element ``index`` of the value: of a dict its (key, value) pair, of a mapped task that instance's.

        Raises:
            LookupError: the value has no such element: the upstream task was run again meanwhile.
        """
        if self._has_many(reference) or self._whole(reference) not in self._found:
            found = self._get(self._element(reference, index))
            if found or self._has_many(reference):
                return xcom.loads(found[0].value) if found else None
        value = self.value(reference)
        items = elements_of(value)
        if items is None or index >= len(items):
            raise LookupError(
                f"the result of task {reference.operator.task_id!r} has no item {index} any more: {value!r:.200}; "
                "the task was run again after this one was expanded: clear this task too"
            )
        return items[index]

    def length(self, reference: XComArg) -> int:
        """Return how many elements the value has; of a mapped upstream task, how many instances.

        Raises:
            LookupError: the value is no list or dict.
        """
        task_id, key = reference.operator.task_id, reference.key
        if self._is_own(reference):
            items = elements_of(self.value(reference))
            if items is None:
                raise LookupError(f"task {task_id!r} pushed no list or dict as XCom {key!r}")
            return len(items)
        found = self._get(XComQuestion(task_id, key, ask="length"))
        if not found:
            raise LookupError(f"task {task_id!r} pushed no list or dict as XCom {key!r}")
        return int(found[0].value)

    def in_bulk(self) -> BulkItems:
        """Return the same elements for reading many of them."""
        return BulkItems(self._supervisor, self.value, self.length, self._has_many)

    def param(self, name: str) -> Any:
        """Return the run's value of the DAG param ``name``."""
        return self._params()[name]

    def _get(self, question: XComQuestion) -> Sequence[XComFound]:
        if question not in self._found:
            self._ask([question])
        return self._found[question]

    def _ask(self, wanted: Iterable[XComQuestion]) -> None:
        missing = [one for one in wanted if one not in self._found]
        if missing:
            self._found.update(zip(missing, self._supervisor.get_xcoms(missing), strict=True))

    def group_indexes(self, group: TaskGroup) -> Sequence[int]:
        """Return which item of each argument of the mapped ``group`` the attempt's instance gets.

        Raises:
            LookupError: the attempt is none of a task of that group, or it depends on a result that is gone.
        """
        if group is not self._group or group.expand_input is None:
            raise LookupError(f"the items of {group!r} are known only to its own tasks")
        if self._group_indexes is None:
            self._group_indexes = self.indexes_of(group.expand_input, self._map_index)
        return self._group_indexes

    def _is_own(self, reference: XComArg) -> bool:
        """Tell whether it is a result of the same instance of the mapped group that asks."""
        return self._group is not None and reference.operator.mapped_group is self._group

    def _has_many(self, reference: XComArg) -> bool:
        """Tell whether it stands for the results of all instances of a mapped task, or of a mapped group."""
        if reference.operator.is_mapped:
            return True
        return reference.operator.mapped_group is not None and not self._is_own(reference)

    def _whole(self, reference: XComArg) -> XComQuestion:
        task_id = reference.operator.task_id
        if self._is_own(reference):
            return XComQuestion(task_id, reference.key, (self._map_index,))
        return first_page(task_id, reference.key) if self._has_many(reference) else XComQuestion(task_id, reference.key)

    def _element(self, reference: XComArg, index: int) -> XComQuestion:
        task_id = reference.operator.task_id
        if self._is_own(reference):
            return XComQuestion(task_id, reference.key, (self._map_index,), item=index)
        if self._has_many(reference):
            return XComQuestion(task_id, reference.key, (index,))
        return XComQuestion(task_id, reference.key, item=index)
