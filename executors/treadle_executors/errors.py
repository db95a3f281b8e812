"""The errors of the executors.

ExecutorError
├── BrokerError              the broker of the executor celery cannot be used just now
├── HostEndsError            a runner host that is being stopped was given an attempt
└── UnknownExecutorError     the setting names an executor that is not installed, or cannot be loaded
"""

from __future__ import annotations

import difflib
from collections.abc import Collection


class ExecutorError(Exception):
    """An executor cannot be used; ``str()`` says which, why, and what to do."""


class BrokerError(ExecutorError):
    """The broker of the executor celery cannot be used just now; ``address`` holds no password."""

    def __init__(self, address: str, cause: BaseException) -> None:
        why = " ".join(str(cause).split()) or type(cause).__name__
        super().__init__(f"the broker {address} cannot be used: {why}")


class HostEndsError(ExecutorError):
    """A runner host that is being stopped takes no attempt any more; another may have it at once."""

    def __init__(self, attempt_id: str) -> None:
        super().__init__(f"attempt {attempt_id} is not taken: the worker is being stopped")


class UnknownExecutorError(ExecutorError, LookupError):
    """No installed package offers an executor of this name."""

    def __init__(self, name: str, known: Collection[str]) -> None:
        installed = ", ".join(sorted(known)) or "none"
        super().__init__(f"executor {name!r} is not installed (installed: {installed}){meant(name, known)}")
        self.name = name


def meant(name: str, known: Collection[str]) -> str:
    """Return the end of a sentence about a name that is unknown: the nearest known one, if one is near."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
