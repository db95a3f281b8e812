"""From an executor's name to its class, by entry points of group ``treadle.executors``.

A third party's package adds its own by declaring one; nothing of Treadle has to know it.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Final

from treadle_executors.errors import ExecutorError, UnknownExecutorError
from treadle_executors.executor import Executor

GROUP: Final = "treadle.executors"


def executor_names() -> list[str]:
    """Return the names of the installed executors, sorted."""
    return sorted({one.name for one in entry_points(group=GROUP)})


def load_executor(name: str) -> type[Executor]:
    """Return the class of executor ``name``.

    Raises:
        UnknownExecutorError: no installed package offers it; the message has the nearest name.
        ExecutorError: its package cannot be imported, or what it offers is no executor.
    """
    for one in entry_points(group=GROUP):
        if one.name != name:
            continue
        try:
            found = one.load()
        except Exception as error:
            raise ExecutorError(f"executor {name!r} ({one.value}) cannot be loaded: {error}") from error
        if not (isinstance(found, type) and issubclass(found, Executor)):
            raise ExecutorError(f"executor {name!r} ({one.value}) is no subclass of Executor")
        return found
    raise UnknownExecutorError(name, executor_names())
