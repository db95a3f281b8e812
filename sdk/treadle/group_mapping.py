"""Mapping a task group over lists: what ``partial()``, ``expand()`` and ``expand_kwargs()`` of ``@task_group`` make.

Every task of a mapped group has one instance for each item, and instance ``i`` waits within the group for the
instances ``i`` alone. The group's function is called once, while the file is parsed: a mapped parameter is a
:class:`GroupArgument` there, which the task runtime fills in. Loaded when a file maps a group, which most do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from treadle.callables import Parameters, plain_function
from treadle.errors import DagError, InvalidArgumentError, UnknownArgumentError
from treadle.expansion import KWARGS, ExpandInput, Mappable, refuse_inside_mapped_group
from treadle.graph import connect
from treadle.params import NOTSET
from treadle.resolvable import Resolvable, Resolver
from treadle.task_groups import TaskGroup
from treadle.xcom_arg import ResultArg, XComArg, references_in

if TYPE_CHECKING:
    from treadle.task_groups import TaskGroupFunction


class GroupArgument(Resolvable):
    """A mapped parameter of a group's function: in a task of the group, the item of its instance."""

    __slots__ = ("default", "group", "name")

    def __init__(self, group: TaskGroup, name: str, default: Any = NOTSET) -> None:
        self.group = group
        self.name = name
        self.default = default
        """What the function takes if a dict of ``expand_kwargs`` does not name the parameter."""

    @property
    def expand_input(self) -> ExpandInput:
        """What the group is mapped over."""
        return self.group.expand_input  # type: ignore[return-value]

    def resolve(self, resolver: Resolver) -> Any:
        """Return the item of the instance that ``resolver`` serves.

        Raises:
            LookupError: the item is gone, or is a dict that does not name the parameter.
            TypeError: an item of ``expand_kwargs`` is no dict.
        """
        indexes = resolver.group_indexes(self.group)
        values = self.expand_input.group_values(self.name, indexes, resolver)
        value = values.get(self.name, self.default)
        if value is NOTSET:
            raise LookupError(
                f"item {indexes[0]} of {self.group!r} has no {self.name!r}, which its function needs; "
                f"it has {', '.join(map(repr, sorted(values))) or 'nothing'}"
            )
        return value

    def group_items(self, indexes: Sequence[int]) -> Iterator[tuple[XComArg, int]]:
        """Yield the elements that :meth:`resolve` will ask for."""
        for (name, argument), index in zip(self.expand_input.arguments.items(), indexes, strict=True):
            if isinstance(argument, ResultArg) and name in (self.name, KWARGS):
                yield from argument.items_wanted(index)

    def _unknown(self) -> TypeError:
        return TypeError(
            f"{self.name!r} of {self.group!r} is not known while the file is parsed, it is another item in each "
            "instance: pass it to a task, and look into it there"
        )

    def __iter__(self) -> NoReturn:
        raise self._unknown()

    def __getitem__(self, _: object) -> NoReturn:
        raise self._unknown()

    def __bool__(self) -> NoReturn:
        raise self._unknown()

    def __repr__(self) -> str:
        return f"GroupArgument({self.group.group_id!r}, {self.name!r})"


class GroupPartial:
    """A group's function with some arguments fixed."""

    def __init__(self, factory: TaskGroupFunction[..., Any], fixed: Mapping[str, Any]) -> None:
        self._factory = factory
        self._fixed = dict(fixed)
        plain = plain_function(factory.function)
        self._parameters = Parameters(plain) if plain is not None else None
        self._check_names(fixed)

    def partial(self, **kwargs: Any) -> GroupPartial:
        """Fix further arguments."""
        return GroupPartial(self._factory, {**self._fixed, **kwargs})

    def expand(self, **mapped: Mappable) -> Any:
        """Map the group over every combination of the items of ``mapped``; over nothing, its tasks are skipped.

        Returns what the function returns, or the group if that is None.

        Raises:
            DagError: an argument is unknown, fixed already, or is no list, dict or result.
        """
        if not mapped:
            raise DagError(f"{self._owner}: expand() needs at least one argument to map over")
        self._check_names(mapped)
        for name, value in mapped.items():
            if name in self._fixed:
                raise DagError(f"{self._owner}: {name!r} is fixed by partial() already, it cannot be mapped too")
            if not isinstance(value, (list, tuple, dict, ResultArg)):
                expected = "a list, a tuple, a dict or the result of an upstream task"
                raise InvalidArgumentError(f"{self._owner}.expand", name, value, expected)
        return self._make("product", mapped, mapped)

    def expand_kwargs(self, kwargs: Sequence[Any] | ResultArg, *, strict: bool = True) -> Any:
        """Map the group over dicts of arguments: a list of them, or the result of an upstream task.

        ``strict``: unknown names in dicts that stand in the file are refused here, not when a task runs.

        Raises:
            DagError: ``kwargs`` is neither, or names an argument that the function does not take.
        """
        owner = f"{self._owner}.expand_kwargs"
        if not isinstance(kwargs, (list, tuple, ResultArg)):
            raise InvalidArgumentError(owner, KWARGS, kwargs, "a list of dicts or the result of an upstream task")
        for item in () if isinstance(kwargs, ResultArg) else kwargs:
            if not isinstance(item, (dict, ResultArg)):
                raise InvalidArgumentError(owner, KWARGS, item, "a dict of arguments")
            if strict and isinstance(item, dict):
                self._check_names(item)
        free = [name for name in self._names if name not in self._fixed]
        return self._make("kwargs", {KWARGS: kwargs if isinstance(kwargs, ResultArg) else list(kwargs)}, free)

    def _make(
        self, kind: Literal["product", "kwargs"], mapped: Mapping[str, Mappable], parameters: Iterable[str]
    ) -> Any:
        refuse_inside_mapped_group(self._owner)
        defaults = self._parameters.defaults if self._parameters is not None else {}
        with TaskGroup(**self._factory.group_arguments()) as group:
            group.expand_input = ExpandInput(kind, dict(mapped))
            items = {name: GroupArgument(group, name, defaults.get(name, NOTSET)) for name in parameters}
            result = self._factory.function(**self._fixed, **items)
        # Its first tasks wait for what it is mapped over, so all of it does.
        for reference in references_in(dict(mapped)):
            connect(reference, group)
        return group if result is None else result

    def _check_names(self, names: Iterable[str]) -> None:
        if self._parameters is None or self._parameters.takes_kwargs:
            return
        for name in names:
            if name not in self._parameters.by_name:
                raise UnknownArgumentError(self._owner, name, self._parameters.by_name)

    @property
    def _names(self) -> Sequence[str]:
        return self._parameters.names if self._parameters is not None else ()

    @property
    def _owner(self) -> str:
        return f"@task_group function {self._factory.__name__!r}"
