"""Where a log is read from: the logs folder of this machine, or the remote store, whichever has more of it.

Called by the web server and the commands. The paths come from the database, so they are data: one that leads out of the
folder is refused (case F6). A store that does not answer costs only what this machine does not have.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from treadle_metadata.errors import InvalidRequestError, LogStoreError
from treadle_metadata.remote_logs.pieces import key_of
from treadle_metadata.remote_logs.reading import StoredLog
from treadle_metadata.remote_logs.store import LogStore, open_store
from treadle_metadata.settings import Settings

log = logging.getLogger(__name__)


class LogFile(Protocol):
    """What a log can do wherever it lies; a ``Path`` can, too."""

    def open(self, mode: Literal["rb"], /) -> BinaryIO:
        """Open it for reading; FileNotFoundError if there is none."""


@dataclass(frozen=True, slots=True)
class LogPlaces:
    """The logs folder of this machine, and the store if there is one."""

    folder: Path
    store: LogStore | None = None

    def find(self, stored: str, month: date) -> LogFile:
        """Return the log of a path as the database has it, of a run of ``month``.

        Raises:
            InvalidRequestError: it leads out of the folder.
            LogStoreError: this machine has nothing of it, and the store cannot be read just now.
        """
        path = inside(self.folder, stored)
        if self.store is None:
            return path
        here = size_of(path)
        remote = StoredLog(self.store, key_of(month, stored))
        try:
            return path if here and here >= remote.size() else remote
        except LogStoreError as error:
            if not here:
                raise
            log.warning("a log is read from %s alone: %s", self.folder, error)
            return path


def places_of(settings: Settings) -> LogPlaces:
    """Return where logs are, by the settings.

    Raises:
        SettingsError: the setting ``remote_logs`` cannot be used.
    """
    return LogPlaces(settings.path("logs_folder"), open_store(settings.remote_logs))


def inside(logs_folder: Path, stored: str) -> Path:
    """Return ``stored`` as a path in the logs folder.

    Raises:
        InvalidRequestError: it leads out of the folder.
    """
    folder = logs_folder.resolve()
    path = (folder / stored).resolve()
    if not path.is_relative_to(folder):
        raise InvalidRequestError(f"the log path {stored!r} leads out of the logs folder; it is not read")
    return path


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
