"""Fetches the results of other tasks that stand in a task's arguments, all of them with one question.

The task runtime makes a :class:`Results` per attempt, lets it :meth:`~Results.fetch` what the task refers to, and
hands it to the arguments as their ``Resolver``. What is needed beyond that (a result within a mapped dict) is asked
for when it is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treadle import xcom
from treadle.expansion import indexes_of
from treadle.runtime.supervisor import Supervisor, XComFound, XComQuestion
from treadle.xcom_arg import XComArg, references_in

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator
    from treadle.operators.mapped import MappedOperator

Wanted = tuple[str, str, int | None]
"""Task id, key, and the map index if only one instance of a mapped task is wanted."""


class Results:
    """Answers what a task's arguments ask (``treadle.resolvable.Resolver``)."""

    def __init__(self, supervisor: Supervisor, params: Callable[[], Mapping[str, Any]]) -> None:
        self._supervisor = supervisor
        self._params = params
        self._found: dict[Wanted, Sequence[XComFound]] = {}

    def fetch(self, task: BaseOperator) -> None:
        """Ask for everything that the arguments of ``task`` refer to, at once."""
        self._ask({_wanted(one) for one in task.references()})

    def fetch_items(self, task: MappedOperator, indexes: Sequence[int]) -> None:
        """Ask for everything that instance ``indexes`` of a mapped task refers to, at once."""
        wanted = {_wanted(one) for one in references_in(task.partial_kwargs)}
        for argument, index in zip(task.expand_input.arguments.values(), indexes, strict=True):
            if isinstance(argument, XComArg):
                wanted.add(_wanted(argument, index if argument.operator.is_mapped else None))
            else:
                item = list(argument.items())[index] if isinstance(argument, dict) else argument[index]
                wanted |= {_wanted(one) for one in references_in(item)}
        self._ask(wanted)

    def indexes_of(self, task: MappedOperator, map_index: int) -> list[int]:
        """Return which item of each argument instance ``map_index`` gets, where the workload does not say.

        Raises:
            LookupError: it depends on how many instances a mapped upstream task has, which only the scheduler knows.
        """
        _, *others = task.expand_input.arguments.values()
        lengths = [map_index + 1]  # the first argument changes slowest, so its length does not matter
        for one in others:
            if isinstance(one, XComArg) and one.operator.is_mapped:
                raise LookupError(
                    f"the workload of {task.task_id!r} names no expand_index, and the number of instances of "
                    f"{one.operator.task_id!r} is not known here"
                )
            lengths.append(len(self.value(one)) if isinstance(one, XComArg) else len(one))
        return indexes_of(map_index, lengths)

    def value(self, reference: XComArg) -> Any:
        """Return the pushed value; for a mapped upstream task the list of all its values, in index order."""
        found = self._get(_wanted(reference))
        if reference.operator.is_mapped:
            return [xcom.loads(one.value) for one in found]
        return xcom.loads(found[0].value) if found else None

    def item(self, reference: XComArg, index: int) -> Any:
        """Return element ``index`` of the value: of a dict its (key, value) pair, of a mapped task that instance's.

        Raises:
            LookupError: the value has no such element: the upstream task was run again meanwhile.
        """
        if reference.operator.is_mapped:
            found = self._get(_wanted(reference, index))
            return xcom.loads(found[0].value) if found else None
        value = self.value(reference)
        items = list(value.items()) if isinstance(value, dict) else value
        if not isinstance(items, (list, tuple)) or index >= len(items):
            raise LookupError(
                f"the result of task {reference.operator.task_id!r} has no item {index} any more: {value!r:.200}; "
                "the task was run again after this one was expanded: clear this task too"
            )
        return items[index]

    def param(self, name: str) -> Any:
        """Return the run's value of the DAG param ``name``."""
        return self._params()[name]

    def _get(self, wanted: Wanted) -> Sequence[XComFound]:
        if wanted not in self._found:
            self._ask([wanted])
        return self._found[wanted]

    def _ask(self, wanted: Iterable[Wanted]) -> None:
        missing = [one for one in wanted if one not in self._found]
        if not missing:
            return
        questions = [XComQuestion(task_id, key, None if index is None else (index,)) for task_id, key, index in missing]
        self._found.update(zip(missing, self._supervisor.get_xcoms(questions), strict=True))


def _wanted(reference: XComArg, index: int | None = None) -> Wanted:
    return (reference.operator.task_id, reference.key, index)
