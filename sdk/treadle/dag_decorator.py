"""``@dag``: a function that defines tasks becomes a DAG when it is called."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack, overload

from treadle.callables import Parameters, docstring, plain_function
from treadle.dag_arguments import DagArguments
from treadle.dags import DAG
from treadle.errors import DagError
from treadle.params import NOTSET, DagParam, Param


class DagFunction:
    """A function under ``@dag``: calling it makes the DAG, with the function's arguments as params of its runs."""

    def __init__(self, function: Callable[..., Any], dag_id: str | None, arguments: Mapping[str, Any]) -> None:
        plain = plain_function(function)
        if plain is None:
            raise DagError(f"@dag decorates functions, not {type(function).__name__}; arguments are given by name")
        functools.update_wrapper(self, function)
        self._code = plain.__code__
        self._parameters = Parameters(plain)
        self.function = function
        self.dag_id = dag_id or function.__name__
        self.arguments = dict(arguments)

    def __call__(self, *args: Any, **kwargs: Any) -> DAG:
        """Make the DAG. Arguments given here are its params' defaults, over those of the function's signature."""
        arguments: dict[str, Any] = {"doc_md": docstring(self.function), **self.arguments}
        with DAG(self.dag_id, **arguments) as made:
            made.fileloc, made.line = self.site
            self.function(**{name: DagParam(made, name, value) for name, value in self._params(args, kwargs).items()})
        return made

    @property
    def site(self) -> tuple[str, int]:
        """File and line of the function."""
        return self._code.co_filename, self._code.co_firstlineno

    def _params(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        fault = self._parameters.fault_of(args, kwargs)
        unknown = [name for name in kwargs if name not in self._parameters.names]
        if unknown:
            fault = f"{unknown[0]!r} is no parameter of it"
        if fault:
            raise DagError(f"@dag function {self.dag_id!r} cannot be called so: {fault}")
        bound = self._parameters.bound(args, kwargs)
        declared = self.arguments.get("params") or {}
        # An argument without any default takes what params= declares for it, else each run must give it.
        return {
            name: bound[name] if name in bound else declared.get(name, Param(NOTSET)) for name in self._parameters.names
        }


@overload
def dag(function: Callable[..., Any], /) -> DagFunction: ...
@overload
def dag(
    dag_id: str | None = None, **arguments: Unpack[DagArguments]
) -> Callable[[Callable[..., Any]], DagFunction]: ...
def dag(dag_id: Any = None, /, **arguments: Any) -> Any:
    """Make each call of the decorated function a DAG. Takes the arguments of :class:`DAG`.

    The id is the function's name unless given; the docstring becomes ``doc_md``; parameters become params.
    """
    if callable(dag_id):
        return DagFunction(dag_id, None, arguments)
    name = arguments.pop("dag_id", dag_id)
    return lambda function: DagFunction(function, name, arguments)
