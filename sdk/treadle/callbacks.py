"""Callbacks of deadlines: what is called when one is missed, and in which way.

Tasks and DAGs take plain functions; a deadline takes one of these, as in ``airflow.sdk`` 3.3. What they name is called
in a child of the DAG's file, or in a triggerer, never in a server's process (``treadle.runtime.run_callback``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Called = Callable[..., Any]


class Callback:
    """A function, a notifier, or the dotted path of either, and its keyword arguments.

    It is called with ``kwargs`` and, if it takes an argument of that name, ``context``. What comes back is called with
    the context if it can be (a notifier), and awaited if it can be.

    Raises:
        ValueError: it is neither callable nor a path, or ``kwargs`` is no mapping of names.
    """

    is_async = False

    def __init__(self, callback_callable: Called | str, kwargs: Mapping[str, Any] | None = None) -> None:
        what = type(self).__name__
        if not callable(callback_callable) and not _is_path(callback_callable):
            raise ValueError(f"{what}: {callback_callable!r} is neither callable nor the dotted path of a function")
        if kwargs is not None and not (isinstance(kwargs, Mapping) and all(isinstance(one, str) for one in kwargs)):
            raise ValueError(f"{what}: kwargs={kwargs!r} is no mapping of argument names")
        self.callback_callable = callback_callable
        self.kwargs = dict(kwargs or {})
        self.executor: str | None = None

    @property
    def path(self) -> str:
        """What is called, for people."""
        if isinstance(self.callback_callable, str):
            return self.callback_callable
        named = self.callback_callable
        if not hasattr(named, "__qualname__"):
            named = type(named)
        return f"{named.__module__}.{named.__qualname__}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path})"


class AsyncCallback(Callback):
    """A callback that is awaited: in a triggerer, or on the executor while none is alive; its event loop is its own."""

    is_async = True


class SyncCallback(Callback):
    """A callback that is called, on the executor named ``executor`` or the installation's own."""

    def __init__(
        self, callback_callable: Called | str, kwargs: Mapping[str, Any] | None = None, executor: str | None = None
    ) -> None:
        super().__init__(callback_callable, kwargs)
        if executor is not None and not (isinstance(executor, str) and executor):
            raise ValueError(f"SyncCallback: executor={executor!r} is no executor's name")
        self.executor = executor


def _is_path(value: object) -> bool:
    return isinstance(value, str) and "." in value and all(part.isidentifier() for part in value.split("."))
