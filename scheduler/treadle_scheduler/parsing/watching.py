"""Hears of changes below the dags folder, in a thread of its own: inotify through ``watchfiles``, else polling.

``on_change`` is called in that thread with a set of changed paths; an empty set means "look for yourself": the folder
came to be or was replaced, or there are no notifications and the poll interval is over.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Final

import watchfiles

log = logging.getLogger(__name__)

DEBOUNCE_MS: Final = 200
"""Longest wait for a burst of changes to end."""

STEP_MS: Final = 40
"""How long a burst must pause; half of it is the usual delay of a notification."""

POLL_SECONDS: Final = 2.0
_LOOK_MS: Final = 1000
"""How often to see whether the folder itself was replaced."""


class Watcher:
    """Watches ``folder``, which need not exist yet."""

    def __init__(self, folder: str, on_change: Callable[[frozenset[str]], None], *, polling: bool = False) -> None:
        self._folder = folder
        self._on_change = on_change
        self._polling = polling
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)

    def _watch(self) -> None:
        while not self._stopping.is_set():
            if self._polling or not os.path.isdir(self._folder):
                self._stopping.wait(POLL_SECONDS)
                self._on_change(frozenset())
                continue
            try:
                self._hear()
            except (OSError, RuntimeError) as error:
                if os.path.isdir(self._folder):
                    self._polling = True
                    log.warning(
                        "the system reports no changes of %s (%s); looking every %g s instead. If it is a limit, raise "
                        "fs.inotify.max_user_watches",
                        self._folder, error, POLL_SECONDS,
                    )  # fmt: skip

    def _hear(self) -> None:
        watched = os.stat(self._folder).st_ino
        first = True
        for changes in watchfiles.watch(
            self._folder,
            watch_filter=None,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            stop_event=self._stopping,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            if first:
                # What changed before the watch began is found by a listing.
                self._on_change(frozenset())
                first = False
            if changes:
                self._on_change(frozenset(path for _, path in changes))
            if not _is_same(self._folder, watched):
                return


def _is_same(folder: str, inode: int) -> bool:
    """Tell whether the watched folder is still the one at that path: it may have been replaced as a whole."""
    try:
        return os.stat(folder).st_ino == inode
    except OSError:
        return False
