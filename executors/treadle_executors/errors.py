"""The errors of the executors.

ExecutorError
└── UnknownExecutorError     the setting names an executor that is not installed, or cannot be loaded
"""

from __future__ import annotations

import difflib
from collections.abc import Collection


class ExecutorError(Exception):
    """An executor cannot be used; ``str()`` says which, why, and what to do."""


class UnknownExecutorError(ExecutorError, LookupError):
    """No installed package offers an executor of this name."""

    def __init__(self, name: str, known: Collection[str]) -> None:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        super().__init__(f"executor {name!r} is not installed (installed: {', '.join(sorted(known)) or 'none'}){hint}")
        self.name = name
