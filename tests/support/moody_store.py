"""Remote stores that fail, as fsspec file systems: one in memory that may be away, and one that never answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import fsspec
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem


class Moody(MemoryFileSystem):  # type: ignore[misc,unused-ignore]
    """Raises what a network raises while it ``is_away``; ``puts`` counts the objects that were written."""

    protocol = "moody"
    is_away = False
    puts = 0

    def pipe_file(self, path: str, value: bytes, **kwargs: Any) -> None:
        """Store an object."""
        _answer()
        Moody.puts += 1
        super().pipe_file(path, value, **kwargs)

    def ls(self, path: str, **kwargs: Any) -> Any:
        """List objects."""
        _answer()
        return super().ls(path, **kwargs)


class Silent(AsyncFileSystem):  # type: ignore[misc,unused-ignore]
    """A store behind a network, of the protocol ``silent``: whatever it is asked, it does not answer."""

    protocol = "silent"

    async def _ls(self, path: str, **kwargs: Any) -> Any:  # noqa: ARG002
        await asyncio.Event().wait()

    async def _cat_file(self, path: str, **kwargs: Any) -> Any:  # noqa: ARG002
        await asyncio.Event().wait()


@contextmanager
def silent_store() -> Iterator[str]:
    """Yield the address of a store that does not answer."""
    fsspec.register_implementation("silent", Silent, clobber=True)
    yield f"silent://{uuid4()}"


def _answer() -> None:
    if Moody.is_away:
        raise ConnectionError("no route to the store")


@contextmanager
def moody_store() -> Iterator[str]:
    """Yield the address of a new, empty store."""
    fsspec.register_implementation("moody", Moody, clobber=True)
    Moody.is_away, Moody.puts = False, 0
    yield f"moody://{uuid4()}"
    Moody.store.clear()
