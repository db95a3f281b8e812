"""Says an attempt's log on this process's standard output too, a moment after it is written.

For ``treadle task run`` in a pod: ``kubectl logs`` shows it, and if the container is killed whole, the cluster still
has what had not reached the server (``kubernetes.last_lines`` sends it after). Marks on lines of their own say where
the attempt's first byte lies in the server's log.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

BEGINS: Final = b"treadle: the log of this attempt follows\n"
"""The first line of all: what comes after is whole, unless the cluster has cut it."""

AT_BYTE: Final = b"treadle: on the server it begins at byte "
"""Begin of the line that tells the byte, as soon as the server has said it."""

PERIOD_SECONDS: Final = 0.05
_LARGEST: Final = 256 * 1024


class Echo:
    """Follows the file ``path``. ``base`` is asked for the log's first byte on the server, until it is known."""

    def __init__(self, path: Path, base: Callable[[], int | None], descriptor: int = 1) -> None:
        self._path = path
        self._base = base
        self._descriptor = descriptor
        self._said = 0
        self._is_told = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="log-echo", daemon=True)

    def start(self) -> None:
        """Say the first mark, and start the thread."""
        with suppress(OSError):
            self._say(BEGINS)
            self._thread.start()

    def end(self) -> None:
        """Say the rest, and stop."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _serve(self) -> None:
        try:
            while not self._stopping.wait(PERIOD_SECONDS):
                self._follow()
            self._follow()
        except OSError as error:
            # Whoever reads the output is gone; the attempt goes on without.
            log.debug("the log is not said any more: %s", error)

    def _follow(self) -> None:
        if not self._is_told and (base := self._base()) is not None:
            self._say(AT_BYTE + b"%d\n" % base)
            self._is_told = True
        while data := self._whole_lines():
            self._say(data)
            self._said += len(data)

    def _whole_lines(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._said)
                data = file.read(_LARGEST)
        except FileNotFoundError:
            return b""
        return data[: data.rfind(b"\n") + 1]

    def _say(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]
