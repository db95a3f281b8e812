"""How triggers ask for connections, variables and the states of other tasks: without a database, and without waiting.

The triggerer answers through the Execution API, ``dag.test()`` from what the test was given.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from treadle.errors import NotInTaskError

Answer = Callable[[str, Mapping[str, Any]], Awaitable[Any]]

_answer: list[Answer] = []


def answer_with(answer: Answer | None) -> None:
    """Have questions of triggers in this process answered so; None: nobody answers."""
    _answer[:] = [] if answer is None else [answer]


async def ask(op: str, **args: Any) -> Any:
    """Return the answer to a question of a trigger (``treadle_metadata.trigger_answers``).

    Raises:
        NotInTaskError: no triggerer runs in this process.
    """
    if not _answer:
        raise NotInTaskError(f"{op}() of a trigger")
    return await _answer[0](op, args)
