"""What a mapped task is mapped over, and which items each of its instances gets.

Authoring code builds an :class:`ExpandInput`; its arguments go into the DAG's document, so that the scheduler can
count the instances; the task runtime asks :meth:`ExpandInput.values_at` for the items of one instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from treadle.authoring import current_group
from treadle.document import ExpandArgument, ExpandDocument
from treadle.errors import DagError
from treadle.resolvable import Resolver
from treadle.templates import literal
from treadle.xcom_arg import ResultArg, XComArg

Mappable = list[Any] | tuple[Any, ...] | dict[Any, Any] | ResultArg
"""What ``expand`` can map over. A dict is mapped over its (key, value) pairs."""

KWARGS = "kwargs"
"""Name of the one argument of ``expand_kwargs`` in the document."""


def indexes_of(map_index: int, lengths: Sequence[int]) -> list[int]:
    """Return the item of each argument that instance ``map_index`` gets; the last argument changes fastest."""
    found: list[int] = []
    for length in reversed(lengths):
        map_index, index = divmod(map_index, length)
        found.append(index)
    return found[::-1]


def refuse_inside_mapped_group(owner: str) -> None:
    """Raise DagError if the file is within a mapped group just now: what is mapped there cannot be mapped again."""
    group = current_group()
    outer = group.mapped_group if group is not None else None
    if outer is not None:
        raise DagError(
            f"{owner} is mapped inside the mapped {outer!r}, which is not supported: let a task of the group handle "
            "its items one after the other, or flatten the lists in a task before the group and map over that"
        )


@dataclass(frozen=True, slots=True)
class ExpandInput:
    """``kind`` is ``product`` (``expand``: every combination of the arguments' items) or ``kwargs``."""

    kind: Literal["product", "kwargs"]
    arguments: Mapping[str, Mappable]

    def values_at(self, indexes: Sequence[int], resolver: Resolver) -> dict[str, Any]:
        """Return the arguments of one instance, for ``MappedOperator.unmap``.

        ``indexes`` is ``Workload["expand_index"]``: one number per argument, in document order. Items that came from
        an upstream task are wrapped in ``literal``, so that nothing in another task's data is taken for a template;
        items written in the DAG file are left to be rendered.

        Raises:
            TypeError: an item of ``expand_kwargs`` is no dict.
        """
        values = {
            name: _item(argument, index, resolver)
            for (name, argument), index in zip(self.arguments.items(), indexes, strict=True)
        }
        return values if self.kind == "product" else _kwargs(values[KWARGS], resolver)

    def group_values(self, name: str, indexes: Sequence[int], resolver: Resolver) -> dict[str, Any]:
        """Return arguments of one instance of a mapped group, ``name`` among them, as they are: nothing is rendered.

        Raises:
            TypeError: an item of ``expand_kwargs`` is no dict.
        """
        if self.kind == "product":
            values = {name: _item(self.arguments[name], indexes[list(self.arguments).index(name)], resolver)}
        else:
            values = self.values_at(indexes, resolver)
        return {key: one.value if isinstance(one, literal) else one for key, one in values.items()}

    def document(self) -> ExpandDocument:
        """Return the plain form for the DAG's document."""
        return ExpandDocument(self.kind, tuple(_argument(name, one) for name, one in self.arguments.items()))


def _argument(name: str, value: Mappable) -> ExpandArgument:
    if isinstance(value, ResultArg):
        return argument_of(name, value)
    return ExpandArgument(name, length=len(value))


def argument_of(name: str, result: ResultArg) -> ExpandArgument:
    """Return the plain form of a result, or of a combination of results, as the mapped argument ``name``."""
    if isinstance(result, XComArg):
        return ExpandArgument(name, task_id=result.operator.task_id, key=result.key)
    sources = tuple(argument_of(name, one) for one in result.sources)
    return sources[0] if result.combine is None else ExpandArgument(name, combine=result.combine, sources=sources)


def _item(argument: Mappable, index: int, resolver: Resolver) -> Any:
    if isinstance(argument, ResultArg):
        return literal(argument.item(resolver, index))
    if isinstance(argument, dict):
        return list(argument.items())[index]
    return argument[index]


def _kwargs(item: Any, resolver: Resolver) -> dict[str, Any]:
    received = isinstance(item, literal)
    plain = item.value if isinstance(item, literal) else item
    if isinstance(plain, ResultArg):
        received, plain = True, plain.resolve(resolver)
    if not isinstance(plain, Mapping) or not all(isinstance(key, str) for key in plain):
        raise TypeError(
            f"expand_kwargs needs dicts with argument names as keys, got {type(plain).__name__}: {plain!r:.200}"
        )
    return {key: literal(value) if received else value for key, value in plain.items()}
