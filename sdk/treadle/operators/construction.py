"""How an operator is made: keywords only, default_args filled in, its place in the file remembered.

``BaseOperator`` wraps the ``__init__`` of each subclass with :func:`constructing`. Default arguments reach a
parameter only at the level of the class chain whose signature names it, so a class that passes ``retries=0`` to its
parent keeps it. Order: explicit argument, operator's default_args, groups' from inner to outer, DAG's, signature.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from treadle.authoring import current_dag, current_group
from treadle.callables import Parameters, plain_function
from treadle.errors import DagError, MissingArgumentError
from treadle.operators.arguments import NAMES, PLACING
from treadle.source import site_here

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator

Init = Callable[..., None]


def constructing(init: Init) -> Init:
    """Return ``init`` wrapped so that it fills default_args in; the outermost of a chain also finishes the operator."""
    names, required = _parameters(init)

    @functools.wraps(init)
    def construct(self: BaseOperator, *positional: Any, **arguments: Any) -> None:
        outermost = type(self).__init__ is construct
        if outermost:
            self.fileloc, self.line = site_here()
            self.applied_default_args = default_args_of(arguments)
        site = (self.fileloc, self.line)
        if positional:
            raise DagError(
                f"{type(self).__name__} takes keyword arguments only; write task_id=... and so on", site=site
            )
        for name in names & self.applied_default_args.keys():
            arguments.setdefault(name, self.applied_default_args[name])
        missing = [name for name in required if name not in arguments]
        if missing:
            raise MissingArgumentError(_owner(self, arguments), missing, site=site)
        init(self, **arguments)
        if outermost:
            self.finish_construction()

    construct.own_names = names  # type: ignore[attr-defined]
    return construct


def default_args_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the default_args that reach an operator made with ``arguments`` here."""
    own = arguments.get("default_args") or {}
    group = arguments.get("task_group") or group_for(arguments.get("dag"))
    dag = arguments.get("dag") or current_dag()
    inherited = group.default_args if group is not None else dag.default_args if dag is not None else {}
    return {**inherited, **own} if inherited or own else {}


def group_for(dag: Any) -> Any:
    """Return the group that a task of ``dag`` made here belongs to: the open one, if it is of that DAG."""
    group = current_group()
    if group is not None and (dag is None or group.dag is dag):
        return group
    return dag.task_group if dag is not None else None


def argument_names(kind: type) -> frozenset[str]:
    """Return every argument name that ``kind`` and its parents take."""
    found = set(NAMES)
    for one in kind.__mro__:
        found |= getattr(one.__dict__.get("__init__"), "own_names", frozenset())
    return frozenset(found)


def _parameters(init: Init) -> tuple[frozenset[str], tuple[str, ...]]:
    plain = plain_function(init)
    if plain is None:
        return frozenset(), ()
    parameters = Parameters(plain)
    own = parameters.names[1:]
    every = NAMES if "OperatorArguments" in str(plain.__annotations__.get("arguments")) else frozenset()
    return frozenset(own) | every - PLACING, tuple(name for name in own if name not in parameters.defaults)


def _owner(operator: BaseOperator, arguments: Mapping[str, Any]) -> str:
    task_id = arguments.get("task_id")
    kind = type(operator).__name__
    return f"task {task_id!r} ({kind})" if task_id else kind
