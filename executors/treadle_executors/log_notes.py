"""Which logs a process has still to send to the remote store, on disk, so that they are sent although it is killed.

One small file for each log, in a folder of the process's own below the logs folder. What a killed process has left is
taken over by the next one that starts on the machine.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Final

from treadle_executors.held_folder import HeldFolder

log = logging.getLogger(__name__)

FOLDER: Final = ".to-send"
_PREFIX: Final = "logs-"


@dataclass(frozen=True, slots=True)
class Note:
    """A log to send: its path in the logs folder, where it goes, and how many bytes it had when this began."""

    attempt_id: str
    path: str
    key: str
    had: int
    is_whole: bool
    """Whether the file begins where the log begins, not where this machine took it over."""

    base: int | None = None
    """Where the file's first byte lies in the log; None until something of it was sent."""

    @property
    def month(self) -> date:
        """The month of its run, by which the database finds it."""
        return date.fromisoformat(self.key.partition("/")[0] + "-01")


class Notes:
    """The notes of this process; ``left`` are those that it found."""

    def __init__(self, logs_folder: Path) -> None:
        self.left: list[Note] = []
        parent = logs_folder / FOLDER
        parent.mkdir(parents=True, exist_ok=True)
        self._held = HeldFolder(parent, _PREFIX, self._take_over)

    def add(self, note: Note) -> None:
        """Keep a note. Where that fails the log is sent all the same, as long as this process lives."""
        try:
            self._file(note.attempt_id).write_text(json.dumps(asdict(note)))
        except OSError as error:
            log.warning("no note of the log of attempt %s could be kept: %s", note.attempt_id, error)

    def remove(self, attempt_id: str) -> None:
        """Remove a note."""
        with suppress(OSError):
            self._file(attempt_id).unlink()

    def close(self) -> None:
        """Let go of the notes: those that are left are for the next process."""
        self._held.close(keep=any(self._held.folder.iterdir()))

    def _file(self, attempt_id: str) -> Path:
        return self._held.folder / attempt_id

    def _take_over(self, theirs: Path, ours: Path) -> None:
        for file in theirs.iterdir():
            try:
                text = file.read_text()
                note = Note(**json.loads(text))
                (ours / note.attempt_id).write_text(text)
            except (OSError, TypeError, ValueError) as error:
                log.warning("a note of a log to send cannot be taken over: %s: %s", file, error)
            else:
                self.left.append(note)
