"""A task that calls a Python function."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from types import CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any

from treadle.callables import Parameters, plain_function
from treadle.context_keys import CONTEXT_KEYS
from treadle.errors import InvalidArgumentError
from treadle.operators.base import BaseOperator


class CallsFunction(BaseOperator):
    """What operators and sensors that call a Python function have in common: the function, its arguments, the call."""

    template_fields: Collection[str] = ("templates_dict", "op_args", "op_kwargs")

    def take_function(
        self,
        function: Callable[..., Any],
        args: Sequence[Any] | None,
        kwargs: Mapping[str, Any] | None,
        templates: Mapping[str, Any] | None,
    ) -> None:
        """Keep the function and its arguments.

        Raises:
            InvalidArgumentError: it cannot be called.
        """
        if not callable(function):
            raise InvalidArgumentError(repr(self), "python_callable", function, "a function", site=self.site)
        self.python_callable = function
        self.op_args: Any = list(args or ())
        self.op_kwargs: Any = dict(kwargs or {})
        self.templates_dict: Any = dict(templates) if templates else None

    def call(self, context: Mapping[str, Any]) -> Any:
        """Call the function with its rendered arguments and what it wants of the context."""
        known = context if self.templates_dict is None else {**context, "templates_dict": self.templates_dict}
        return call_function(self.python_callable, self.op_args, self.op_kwargs, known)


class PythonOperator(CallsFunction):
    """Calls ``python_callable(*op_args, **op_kwargs)``; what it returns is the task's XCom.

    Names of the context that the function has as parameters are handed to it; with ``**kwargs`` it gets all of them.
    ``templates_dict`` is rendered and handed over under that name. Coroutine functions are run to their end.
    """

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Sequence[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        templates_dict: Mapping[str, Any] | None = None,
        show_return_value_in_logs: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.take_function(python_callable, op_args, op_kwargs, templates_dict)
        self.show_return_value_in_logs = show_return_value_in_logs

    def execute(self, context: Any) -> Any:
        """Call the function and return what it returns."""
        result = self.call(context)
        # A line would make a folder and a file for each attempt that has nothing to say.
        if self.show_return_value_in_logs and result is not None:
            self.log.info("Returned value: %s", _shortened(result))
        return result


def call_function(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], context: Mapping[str, Any]
) -> Any:
    """Call ``function`` with its arguments and what it wants of the context; run a coroutine to its end."""
    result = function(*args, **keywords_for(function, args, kwargs, context))
    if isinstance(result, GeneratorType):
        # A task that yields tells of its assets; few do.
        return importlib.import_module("treadle.runtime.asset_events").drain(result, context["outlet_events"])
    if isinstance(result, CoroutineType):
        # asyncio is a large import, and few tasks are coroutines.
        return importlib.import_module("asyncio").run(result)
    return result


def keywords_for(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the keyword arguments for ``function``: ``kwargs``, and what its parameters want of ``context``."""
    parameters = _parameters_of(function)
    if parameters is None:
        return dict(kwargs)
    taken = {*parameters.positional[: len(args)], *parameters.positional_only}
    if parameters.takes_kwargs:
        return {**{name: value for name, value in context.items() if name not in taken}, **kwargs}
    wanted = (set(parameters.names) & CONTEXT_KEYS) - taken - kwargs.keys()
    found = {name: context[name] for name in wanted if name in context}
    absent = sorted(wanted - found.keys() - parameters.defaults.keys())
    if absent and "logical_date" not in context:
        raise TypeError(
            f"{getattr(function, '__name__', 'the function')}() wants {', '.join(absent)} of the context, "
            "but this run has no logical date: give it one (treadle dags trigger --logical-date), "
            f"or write {absent[0]}=None"
        )
    return {**found, **kwargs}


def _parameters_of(function: Callable[..., Any]) -> Parameters | None:
    """Return the parameters that a call fills; None for what is not written in Python."""
    plain = plain_function(function)
    if plain is not None:
        return Parameters(plain)
    method = function if isinstance(function, MethodType) else getattr(function, "__call__", None)  # noqa: B004
    if isinstance(method, MethodType) and isinstance(method.__func__, FunctionType):
        parameters = Parameters(method.__func__)
        parameters.positional = parameters.positional[1:]
        return parameters
    return None


def _shortened(value: object, most: int = 2_000) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
