"""How triggers ask for connections, variables and the states of other tasks: without a database, and without waiting.

The triggerer answers through the Execution API, ``dag.test()`` from what the test was given.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from treadle.connections import Connection
from treadle.errors import NotInTaskError
from treadle.runtime import masking

Answer = Callable[[str, Mapping[str, Any]], Awaitable[Any]]

_answer: list[Answer] = []


def answer_with(answer: Answer | None) -> None:
    """Have questions of triggers in this process answered so; None: nobody answers."""
    _answer[:] = [] if answer is None else [answer]


async def ask(op: str, /, **args: Any) -> Any:
    """Return the answer to a question of a trigger (``treadle_metadata.trigger_answers``).

    Raises:
        NotInTaskError: no triggerer runs in this process.
    """
    if not _answer:
        raise NotInTaskError(f"{op}() of a trigger")
    return await _answer[0](op, args)


async def connection(conn_id: str) -> Connection:
    """Return a connection, asked for anew each time: what rotates is seen. Its secrets are masked in what is logged.

    Raises:
        ConnectionNotFoundError: there is none.
    """
    fields = await ask("get_connection", conn_id=conn_id) if _answer else None
    if fields is None:
        return Connection.get(conn_id)
    masking.add_connection(fields)
    return Connection.from_dict(fields, conn_id)


async def variable(key: str, default: str | None = None) -> str | None:
    """Return a variable's text, ``default`` if there is none."""
    found = await ask("get_variable", key=key)
    if found is None:
        return default
    masking.add_variable(key, found)
    return str(found)
