"""What a DAG file reads from the dags folder besides itself: modules, data files, folders that it scans.

Collected in the parse child with an audit hook, so that the file is parsed again when any of it changes. Files are
noted with the state they had when they were opened, so that an edit during the parse shows as a change.
"""

from __future__ import annotations

import os
import sys
from itertools import islice
from types import ModuleType
from typing import Any, Final

MOST: Final = 2000
"""A file that reads more is parsed again when one of the first ones changes, or itself."""

_WRITING: Final = os.O_WRONLY | os.O_RDWR


def state_of(path: str) -> list[int] | None:
    """Return time of change (ns) and size of a file or folder; None if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]


def modules_since(count: int) -> list[ModuleType]:
    """Return the modules imported since there were ``count``.

    The older ones are not even looked at: that alone would copy a page of the zygote's for each of them.
    """
    return list(islice(reversed(sys.modules.values()), max(0, len(sys.modules) - count)))


class Inputs:
    """Notes what is read below ``folder`` from :meth:`watch` on. Keys of ``read`` are paths relative to it."""

    def __init__(self, folder: str, own_path: str) -> None:
        self._prefix = folder.rstrip(os.sep) + os.sep
        self._own = own_path
        self._modules_before = len(sys.modules)
        self.read: dict[str, list[int] | None] = {}

    def watch(self) -> None:
        """Begin. There is no end: the child ends soon."""
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and not flags & _WRITING:
                self._note(path)
        elif event == "os.scandir":
            self._note(arguments[0])

    def _note(self, path: Any) -> None:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or len(self.read) >= MOST:
            return
        if not path.startswith(self._prefix):
            path = os.path.abspath(path)
            # The folder itself has the name "".
            path = path + os.sep if path + os.sep == self._prefix else path
            if not path.startswith(self._prefix):
                return
        name = path[len(self._prefix) :]
        if path != self._own and name not in self.read and "__pycache__" not in name:
            self.read[name] = state_of(path)

    def of_modules(self) -> None:
        """Note the modules that were imported from the folder, compiled or not."""
        for module in modules_since(self._modules_before):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path.startswith(self._prefix):
                self._note(path)

    def usable(self) -> dict[str, list[int] | None]:
        """Return what was read, by path, without names that are no text."""
        return {name: state for name, state in sorted(self.read.items()) if name.isprintable()}
