"""A log of a remote store as a file: opened, read in ranges and from its end, never whole."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, BinaryIO, Final, Literal, Protocol, cast

from treadle_metadata.remote_logs.pieces import Piece

_READ_AHEAD: Final = 256 * 1024
_LARGEST_RANGE: Final = 4 * 1024 * 1024
"""What one request asks for at most: a slow line has it in time, too."""


class Store(Protocol):
    """What is needed of ``store.LogStore``."""

    def pieces(self, key: str) -> list[Piece]:
        """Return the objects of a log without a gap."""

    def read(self, pieces: Sequence[Piece], offset: int, size: int) -> bytes:
        """Return some bytes; FileNotFoundError if the object is gone."""


class StoredLog:
    """One log of a store, which opens as a file does. It is read in ranges, never whole."""

    def __init__(self, store: Store, key: str) -> None:
        self.store = store
        self.key = key

    def open(self, _: Literal["rb"] = "rb") -> BinaryIO:
        """Open it for reading.

        Raises:
            FileNotFoundError: there is no such log.
        """
        pieces = self.store.pieces(self.key)
        if not pieces:
            raise FileNotFoundError(self.key)
        return cast("BinaryIO", io.BufferedReader(_Reading(self.store, self.key, pieces), _READ_AHEAD))

    def size(self) -> int:
        """Return how many bytes there are."""
        pieces = self.store.pieces(self.key)
        return pieces[-1].end if pieces else 0

    def slice(self, offset: int, size: int) -> bytes:
        """Return up to ``size`` bytes from ``offset`` on."""
        with self.open() as file:
            file.seek(offset)
            return file.read(size)


class _Reading(io.RawIOBase):
    """A log as one stream of bytes, over the objects that it had when it was opened."""

    def __init__(self, store: Store, key: str, pieces: list[Piece]) -> None:
        self._store, self._key, self._pieces = store, key, pieces
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._pieces[-1].end}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), _LARGEST_RANGE)
        try:
            data = self._store.read(self._pieces, self._at, wanted)
        except FileNotFoundError:
            # The log is over, and its small objects were replaced by a large one.
            self._pieces = self._store.pieces(self._key) or self._pieces
            data = self._store.read(self._pieces, self._at, wanted)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
