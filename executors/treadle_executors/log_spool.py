"""The folder in which a worker machine's runner host writes logs until the server has them.

Each worker process has one of its own, and holds a lock on it as long as it lives. A worker that was killed leaves its
folder behind; the next one that starts on the machine finds it unlocked and removes it: the tokens that its rest could
have been sent with died with it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_PREFIX: Final = "treadle-logs-"
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LogSpool:
    """A folder below ``parent`` (by default the machine's folder for temporary files)."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        with _alone(parent):
            _remove_abandoned(parent)
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            self._lock = os.open(self.folder, _OPEN)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Keep other workers from looking while a folder exists that nobody has locked yet."""
    path = parent / f"treadle-logs.{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            descriptor = os.open(folder, _OPEN)
        except OSError:
            continue  # another user's, or no folder
        try:
            if os.fstat(descriptor).st_uid == os.getuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                log.info("removed %s, which a worker that was killed has left", folder)
        except BlockingIOError:
            pass  # its worker lives
        finally:
            os.close(descriptor)
