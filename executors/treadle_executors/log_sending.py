"""Sends the logs of this machine's logs folder to the remote store while attempts run: a lost machine loses seconds.

Held by whatever writes a logs folder: the local executor (and so ``treadle worker``), and the web server for the logs
of worker machines. Nothing waits for it: a store that is away is tried again, and the folder keeps the text meanwhile;
what a killed process has left is sent by the next one. A log that is over becomes one object, and its file here goes.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Final

from treadle_executors.log_notes import Note, Notes
from treadle_metadata.errors import LogStoreError
from treadle_metadata.remote_logs.pieces import key_of
from treadle_metadata.remote_logs.places import size_of
from treadle_metadata.remote_logs.store import LogStore, open_store
from treadle_metadata.settings import Settings

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
PERIOD_SECONDS: Final = 5.0
"""Between two objects of a log that grows, unless more has gathered than an object should hold."""

_QUIET_SECONDS: Final = 30.0
_LARGEST_PIECE: Final = 4 * 1024 * 1024
_AT_ONCE: Final = 16
_LONGEST_PAUSE: Final = 30.0
_TOLD_AGAIN_SECONDS: Final = 60.0
_SECONDS_AT_THE_END: Final = 10.0


@dataclass(slots=True)
class _Followed:
    """One log on its way."""

    note: Note
    path: Path
    sent: int | None = None
    """Bytes of the file that the store has; None before it was asked."""
    pieces: int = 0
    """Objects that it has in the store, as far as that is known."""
    sent_at: float = 0.0
    seen: int = 0
    grown_at: float = field(default_factory=time.monotonic)
    is_over: bool = False


class NoSending:
    """What there is without a remote store: nothing is sent, and the logs folder keeps all."""

    def start(self) -> None:
        """Do nothing."""

    def follow(self, attempt_id: str, path: str, month: date, *, is_whole: bool = False) -> None:
        """Do nothing."""

    def over(self, attempt_ids: Iterable[str]) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


class LogSending(NoSending):
    """Sends logs of ``logs_folder`` to ``store``; used from several threads.

    ``ended`` is asked which of some attempts (with their months) are over, where nobody may say so by :meth:`over`.
    """

    def __init__(
        self, store: LogStore, logs_folder: Path, ended: Callable[[Mapping[str, date]], Collection[str]] | None = None
    ) -> None:
        self._store = store
        self._folder = logs_folder
        self._ended = ended
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._followed: dict[str, _Followed] = {}
        self._of_paths: dict[str, str] = {}
        self._stopping = threading.Event()
        self._pause = LOOK_SECONDS
        self._trouble = ""
        self._told_at = 0.0
        self._asked_at = time.monotonic()
        self._notes = Notes(logs_folder)
        for note in self._notes.left:
            # Whoever wrote it is dead. What is written later nevertheless, as by a worker far away, is followed anew.
            self._followed[note.attempt_id] = _Followed(note, logs_folder / note.path, is_over=ended is None)
            self._of_paths[note.path] = note.attempt_id
        self._thread = threading.Thread(target=self._serve, name="log-sending", daemon=True)

    def start(self) -> None:
        """Start to send."""
        self._thread.start()

    def follow(self, attempt_id: str, path: str, month: date, *, is_whole: bool = False) -> None:
        """Send a log from now on; ``path`` is relative to the logs folder. Once more it changes nothing.

        Not ``is_whole``: what the store has already was written on another machine, and this file goes on from there.
        """
        with self._lock:
            known = self._followed.get(attempt_id)
            if known is not None:
                known.is_over = False
                return
            one = self._taken_over(attempt_id, path)
            if one is None:
                file = self._folder / path
                note = Note(attempt_id, path, key_of(month, path), size_of(file), is_whole)
                one = _Followed(note, file)
            self._followed[attempt_id] = one
        self._notes.add(one.note)

    def _taken_over(self, attempt_id: str, path: str) -> _Followed | None:
        """Go on with the file of an earlier attempt of the same try, if that is still on its way."""
        earlier = self._followed.pop(self._of_paths.get(path, ""), None)
        self._of_paths[path] = attempt_id
        if earlier is None:
            return None
        self._notes.remove(earlier.note.attempt_id)
        return replace(earlier, note=replace(earlier.note, attempt_id=attempt_id), is_over=False)

    def over(self, attempt_ids: Iterable[str]) -> None:
        """Nothing more will be written of these."""
        with self._lock:
            for attempt_id in attempt_ids:
                if (one := self._followed.get(attempt_id)) is not None:
                    one.is_over = True

    def flush(self) -> None:
        """Send all that there is now, if the store takes it."""
        self._round(everything=True)

    def left(self) -> int:
        """Return how many logs are not over, or not sent."""
        with self._lock:
            return len(self._followed)

    def end(self) -> None:
        """Send what there is, if that takes seconds, and stop; the next process that starts here sends the rest."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        last = threading.Thread(target=self._last_round, name="log-sending-last", daemon=True)
        last.start()
        last.join(_SECONDS_AT_THE_END)
        if left := self.left():
            log.warning("%d logs are not whole at %s yet; the next start here sends them", left, self._store.name)
        self._notes.close()

    def _last_round(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()
        self.flush()

    def _serve(self) -> None:
        while not self._stopping.wait(self._pause):
            try:
                self._round()
                self._ask()
            except Exception:
                # Without this thread no log would ever be sent again.
                log.exception("logs could not be sent; trying again")

    def _round(self, *, everything: bool = False) -> None:
        """Look at every log once, and send what is due."""
        with self._sending:
            with self._lock:
                followed = list(self._followed.values())
            due = [one for one in followed if _is_due(one, everything=everything)]
            troubles = self._send_all(due)
            self._note_trouble(troubles[0] if troubles else "", was_tried=bool(due))

    def _send_all(self, due: Collection[_Followed]) -> list[str]:
        """Send several logs at once; return what went wrong. The threads hold up no end of the process."""
        waiting, troubles = deque(due), list[str]()

        def work() -> None:
            with suppress(IndexError):
                while True:
                    if said := self._send(waiting.popleft()):
                        troubles.append(said)

        threads = [threading.Thread(target=work, name="log-sending-one", daemon=True) for _ in range(_AT_ONCE)]
        for thread in threads[: len(due)]:
            thread.start()
        for thread in threads[: len(due)]:
            thread.join()
        return troubles

    def _send(self, one: _Followed) -> str:
        """Send what there is of one log; return what went wrong."""
        is_over = one.is_over  # asked before the file is read: what is over by then is whole
        try:
            if size_of(one.path):
                self._send_new(one)
            if is_over:
                self._finish(one)
        except (LogStoreError, OSError) as error:
            return str(error)
        except Exception as error:
            log.exception("the log %s could not be sent", one.note.path)
            return f"{type(error).__name__}: {error}"
        return ""

    def _send_new(self, one: _Followed) -> None:
        note = one.note
        if note.base is None or one.sent is None:
            # Of this machine, or of another one that began the same try: then this file goes on from there.
            there = self._store.size(note.key)
            if note.base is None:
                one.note = note = replace(note, base=0 if note.is_whole else max(0, there - note.had))
                self._notes.add(note)
            one.sent = max(0, there - (note.base or 0))
            one.pieces = 2 if there else 0
        while data := _read(one.path, one.sent, _LARGEST_PIECE):
            self._store.put(note.key, (note.base or 0) + one.sent, data)
            one.sent += len(data)
            one.pieces += 1
        one.sent_at = time.monotonic()

    def _finish(self, one: _Followed) -> None:
        """Make one object of a log, and remove its file, unless somebody has written on."""
        if one.sent is not None and one.pieces != 1:
            base = one.note.base or 0
            is_here = base == 0 and size_of(one.path) >= one.sent
            nearer = (lambda offset, size: _read(one.path, offset, size)) if is_here else None
            self._store.gather(one.note.key, base + one.sent, nearer)
        with self._lock:
            # A later attempt of the same try may have taken the file over.
            is_still_over = one.is_over and self._followed.get(one.note.attempt_id) is one
            if not is_still_over or not remove_if_sent(one.path, one.sent or 0):
                return
            self._followed.pop(one.note.attempt_id, None)
            self._of_paths.pop(one.note.path, None)
            self._remove_empty(one.path.parent)
        self._notes.remove(one.note.attempt_id)

    def _remove_empty(self, folder: Path) -> None:
        with suppress(OSError):
            while folder != self._folder and folder.is_relative_to(self._folder):
                folder.rmdir()
                folder = folder.parent

    def _ask(self) -> None:
        """Ask which of the logs that do not grow are over."""
        now = time.monotonic()
        if self._ended is None or now - self._asked_at < _QUIET_SECONDS:
            return
        self._asked_at = now
        with self._lock:
            followed = self._followed.items()
            quiet = {name: one.note.month for name, one in followed if now - one.grown_at > _QUIET_SECONDS}
        if quiet:
            self.over(self._ended(quiet))

    def _note_trouble(self, sentence: str, *, was_tried: bool) -> None:
        now = time.monotonic()
        if sentence:
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            if not self._trouble or now - self._told_at > _TOLD_AGAIN_SECONDS:
                log.warning("%s; the logs stay in %s and are sent later", sentence, self._folder)
                self._told_at = now
        elif was_tried:
            self._pause = LOOK_SECONDS
            if self._trouble:
                log.info("logs are sent to %s again", self._store.name)
        if sentence or was_tried:
            self._trouble = sentence


def remove_if_sent(path: Path, sent: int) -> bool:
    """Remove a log's file if it has no more than ``sent`` bytes; nobody who locks it for writing loses a byte."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_size > sent:
            return False
        path.unlink(missing_ok=True)
        return True
    finally:
        os.close(descriptor)


def _is_due(one: _Followed, *, everything: bool) -> bool:
    now, size = time.monotonic(), size_of(one.path)
    if size != one.seen:
        one.seen, one.grown_at = size, now
    new = size - (one.sent or 0)
    if one.is_over or (everything and new > 0):
        return True
    return new > _LARGEST_PIECE or (new > 0 and now - one.sent_at >= PERIOD_SECONDS)


def _read(path: Path, offset: int, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except FileNotFoundError:
        return b""


def sending_of(settings: Settings, ended: Callable[[Mapping[str, date]], Collection[str]] | None = None) -> NoSending:
    """Return what sends the logs of this machine by the settings.

    Raises:
        SettingsError: the setting ``remote_logs`` cannot be used.
    """
    store = open_store(settings.remote_logs)
    return NoSending() if store is None else LogSending(store, settings.path("logs_folder"), ended)
