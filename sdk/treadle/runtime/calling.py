"""Calls one callback, whatever it is: a function, a coroutine function or a notifier.

The task runtime calls those of tasks; ``run_callback`` and ``dag.test()`` those of DAGs and deadlines. What a callback
raises is the caller's to judge.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from treadle.callables import Parameters, plain_function

if TYPE_CHECKING:
    from treadle.callbacks import Callback


def call_with_context(callback: Callable[[Any], Any], context: Any) -> None:
    """Call a callback of a task or DAG with the context; if it gives an awaitable, wait for that."""
    given = callback(context)
    if hasattr(given, "__await__"):
        _wait_for(_awaited(given))


def call_deadline(callback: Callback, context: Any) -> None:
    """Call what a deadline names, as its kind asks.

    Raises:
        LookupError: its path leads nowhere.
    """
    named = callback.callback_callable
    function = _found(named) if isinstance(named, str) else named
    if callback.is_async:
        _wait_for(_call_async(function, callback.kwargs, context))
        return
    given = _called(function, callback.kwargs, context)
    if hasattr(given, "__await__") and not callable(given):
        _wait_for(_awaited(given))
    elif callable(given):
        given(context)


async def _call_async(function: Any, kwargs: Mapping[str, Any], context: Any) -> None:
    given = _called(function, kwargs, context)
    if hasattr(given, "__await__"):
        if hasattr(given, "rendered"):
            given.context = context
        await given
    elif callable(given):
        given(context)


def _wait_for(work: Coroutine[Any, Any, None]) -> None:
    # Loaded on need: plain callbacks have nothing to do with event loops, which take long to load.
    importlib.import_module("asyncio").run(work)


async def _awaited(given: Awaitable[Any]) -> None:
    await given


def _called(function: Any, kwargs: Mapping[str, Any], context: Any) -> Any:
    """Return what ``function`` gives for ``kwargs``; a notifier that is made already stands for itself."""
    if hasattr(function, "rendered") and not isinstance(function, type):
        return function
    named = {**kwargs, "context": context} if "context" not in kwargs and _takes_context(function) else kwargs
    return function(**named)


def _takes_context(function: Any) -> bool:
    entry: Any = getattr(function, "__init__", None) if isinstance(function, type) else function
    plain = plain_function(entry) or plain_function(getattr(entry, "__func__", None) or type(entry).__call__)
    if plain is None:
        return False
    parameters = Parameters(plain)
    return "context" in parameters.by_name or (parameters.takes_kwargs and not isinstance(function, type))


def _found(path: str) -> Any:
    """Return what ``path`` names: a module and something in it, at any depth."""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if error.name is not None and ".".join(parts[:length]).startswith(error.name):
                continue
            raise
        for name in parts[length:]:
            if not hasattr(found, name):
                raise LookupError(f"the callback {path!r} cannot be found: {found.__name__} has no {name!r}")
            found = getattr(found, name)
        return found
    raise LookupError(f"the callback {path!r} cannot be found: there is no module {parts[0]!r}")
