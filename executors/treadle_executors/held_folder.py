"""A folder that belongs to one process: it holds a lock on it as long as it lives.

A process that was killed leaves its folder behind; the next one that starts on the machine finds it unlocked, sees to
what is in it, and removes it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class HeldFolder:
    """A folder below ``parent`` whose name begins with ``prefix``.

    ``see_to`` is called with each folder that a killed process has left, before it is removed, and with the new one.
    ``kind`` is the beginning that all prefixes of one kind share: they have one file of locks.
    """

    def __init__(
        self, parent: Path, prefix: str, see_to: Callable[[Path, Path], None] = lambda *_: None, *, kind: str = ""
    ) -> None:
        with _alone(parent, kind or prefix):
            self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
            self._lock = os.open(self.folder, _OPEN)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            _end_abandoned(parent, prefix, lambda theirs: see_to(theirs, self.folder))

    def close(self, *, keep: bool = False) -> None:
        """Let go of the folder, and remove it, unless what is in it is for the next process."""
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


@contextmanager
def _alone(parent: Path, prefix: str) -> Iterator[None]:
    """Keep other processes from looking while a folder exists that nobody has locked yet."""
    path = parent / f"{prefix.rstrip('-')}.{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _end_abandoned(parent: Path, prefix: str, see_to: Callable[[Path], None]) -> None:
    for folder in parent.glob(f"{prefix}*"):
        try:
            descriptor = os.open(folder, _OPEN)
        except OSError:
            continue  # another user's, or no folder
        try:
            if os.fstat(descriptor).st_uid == os.getuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                see_to(folder)
                shutil.rmtree(folder, ignore_errors=True)
                log.info("removed %s, which a process that was killed has left", folder)
        except BlockingIOError:
            pass  # its process lives
        finally:
            os.close(descriptor)
