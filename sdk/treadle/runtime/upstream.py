"""Fetches the results of other tasks that stand in a task's arguments, all of them with one question.

The task runtime makes a :class:`Results` per attempt, lets it :meth:`~Results.fetch` what the task refers to, and
hands it to the arguments as their ``Resolver``. What is needed beyond that (a result within a mapped dict, the next
page of a long one) is asked for when it is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treadle import xcom
from treadle.expansion import indexes_of
from treadle.runtime.lazy_results import BulkItems, LazyResults, elements_of, first_page
from treadle.runtime.supervisor import Supervisor, XComFound, XComQuestion
from treadle.xcom_arg import ResultArg, XComArg, references_in

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator
    from treadle.operators.mapped import MappedOperator


class Results:
    """Answers what a task's arguments ask (``treadle.resolvable.Resolver``)."""

    def __init__(self, supervisor: Supervisor, params: Callable[[], Mapping[str, Any]]) -> None:
        self._supervisor = supervisor
        self._params = params
        self._found: dict[XComQuestion, Sequence[XComFound]] = {}

    def fetch(self, task: BaseOperator) -> None:
        """Ask for everything that the arguments of ``task`` refer to, at once."""
        self._ask({_whole(one) for one in task.references()})

    def fetch_items(self, task: MappedOperator, indexes: Sequence[int]) -> None:
        """Ask for everything that instance ``indexes`` of a mapped task refers to, at once: of a list one element."""
        wanted = {_whole(one) for one in references_in(task.partial_kwargs)}
        for argument, index in zip(task.expand_input.arguments.values(), indexes, strict=True):
            if isinstance(argument, ResultArg):
                wanted |= {_element(*one) for one in argument.items_wanted(index)}
            else:
                item = list(argument.items())[index] if isinstance(argument, dict) else argument[index]
                wanted |= {_whole(one) for one in references_in(item)}
        self._ask(wanted)

    def indexes_of(self, task: MappedOperator, map_index: int) -> list[int]:
        """Return which item of each argument instance ``map_index`` gets, where the workload does not say.

        Raises:
            LookupError: it depends on the length of a result that cannot be mapped over.
        """
        _, *others = task.expand_input.arguments.values()
        # The first argument changes slowest, so its length does not matter.
        lengths = [one.length(self) if isinstance(one, ResultArg) else len(one) for one in others]
        return indexes_of(map_index, [map_index + 1, *lengths])

    def value(self, reference: XComArg) -> Any:
        """Return the pushed value; for a mapped upstream task all its values, fetched in pages when they are read."""
        question = _whole(reference)
        found = self._get(question)
        if reference.operator.is_mapped:
            return LazyResults(self._supervisor, question, found)
        return xcom.loads(found[0].value) if found else None

    def item(self, reference: XComArg, index: int) -> Any:
        """Return element ``index`` of the value: of a dict its (key, value) pair, of a mapped task that instance's.

        Raises:
            LookupError: the value has no such element: the upstream task was run again meanwhile.
        """
        if reference.operator.is_mapped or _whole(reference) not in self._found:
            found = self._get(_element(reference, index))
            if found or reference.operator.is_mapped:
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
        found = self._get(XComQuestion(task_id, key, ask="length"))
        if not found:
            raise LookupError(f"task {task_id!r} pushed no list or dict as XCom {key!r}")
        return int(found[0].value)

    def in_bulk(self) -> BulkItems:
        """Return the same elements for reading many of them."""
        return BulkItems(self._supervisor, self.value, self.length)

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


def _whole(reference: XComArg) -> XComQuestion:
    task = reference.operator
    return first_page(task.task_id, reference.key) if task.is_mapped else XComQuestion(task.task_id, reference.key)


def _element(reference: XComArg, index: int) -> XComQuestion:
    task = reference.operator
    if task.is_mapped:
        return XComQuestion(task.task_id, reference.key, (index,))
    return XComQuestion(task.task_id, reference.key, item=index)
