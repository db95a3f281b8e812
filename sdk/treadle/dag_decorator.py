"""``@dag``: a function that defines tasks becomes a DAG when it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Unpack, overload

from treadle.dag_arguments import DagArguments
from treadle.dags import DAG
from treadle.params import NOTSET, DagParam, Param


class DagFunction:
    """A function under ``@dag``: calling it makes the DAG, with the function's arguments as params of its runs."""

    def __init__(
        self, function: Callable[..., Any], dag_id: str | None, arguments: Mapping[str, Any]
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.dag_id = dag_id or function.__name__
        self.arguments = dict(arguments)

    def __call__(self, *args: Any, **kwargs: Any) -> DAG:
        """Make the DAG. Arguments given here are its params' defaults, over those of the function's signature."""
        arguments: dict[str, Any] = {"doc_md": inspect.getdoc(self.function), **self.arguments}
        bound = inspect.signature(self.function).bind_partial(*args, **kwargs)
        bound.apply_defaults()
        with DAG(self.dag_id, **arguments) as made:
            code = self.function.__code__
            made.fileloc, made.line = code.co_filename, code.co_firstlineno
            self.function(
                **{name: DagParam(made, name, value) for name, value in self._params(bound).items()}
            )
        return made

    def _params(self, bound: inspect.BoundArguments) -> dict[str, Any]:
        names = inspect.signature(self.function).parameters
        declared = self.arguments.get("params") or {}
        # An argument without any default takes what params= declares for it, else each run must give it.
        return {
            name: bound.arguments[name] if name in bound.arguments else declared.get(name, Param(NOTSET))
            for name in names
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
