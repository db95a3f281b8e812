"""How an error becomes the one line that a user reads.

Known errors (Treadle's own trees and the settings) say everything themselves; anything else is a defect and says so.
Nothing is imported to recognise them: an error's class names its module.
"""

from __future__ import annotations

from typing import Final

_KNOWN: Final = (
    "treadle.errors",
    "treadle_metadata.errors",
    "treadle_metadata.settings",
    "treadle_executors.errors",
    "treadle_scheduler.errors",
    "treadle_webserver.errors",
    "treadle_cli.errors",
)


class CliError(Exception):
    """A command cannot do what was asked; ``str()`` is the line for the user."""


class StoppedWaiting(CliError):
    """The user pressed Ctrl-C while a command waited."""


def sentence(error: Exception) -> str:
    """Return the line for ``error``: its own text if it is one of ours, else what broke and how to see where."""
    if any(kind.__module__ in _KNOWN for kind in type(error).__mro__) or isinstance(error, OSError):
        return str(error)
    first = next(iter(str(error).splitlines()), "")
    return f"unexpected {type(error).__name__}: {first} (`treadle --debug ...` shows the traceback)"
