"""The remote store of task logs (S3, Google Cloud Storage, Azure, a file system), through ``fsspec``.

Used by whatever sends logs (``treadle_executors.log_sending``), reads them (``places``) or takes them away (``treadle
db clean``). Credentials come from the setting or from the machine; what runs for tasks on worker machines needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from treadle_metadata.errors import LogStoreError
from treadle_metadata.remote_logs.pieces import Piece, checked, covering, key_of, name_of, piece_of
from treadle_metadata.remote_logs.reading import StoredLog
from treadle_metadata.settings import SettingsError

SEGMENT: Final = 32 * 1024 * 1024
"""Bytes of an object of a log that is over; a longer log has several."""

PATIENCE_SECONDS: Final = 20.0


@lru_cache(maxsize=8)
def open_store(url: str) -> LogStore | None:
    """Return the store of the setting ``remote_logs``; None if it is empty.

    Raises:
        SettingsError: the setting is no address, or a package that its protocol needs is not installed.
    """
    return LogStore(url) if url else None


class LogStore:
    """The store at ``url``; safe to use from several threads. ``name`` is its address without credentials."""

    def __init__(self, url: str) -> None:
        address, _, query = url.partition("?")
        self.name = address
        protocol = urlsplit(address).scheme
        if not protocol:
            raise SettingsError(
                f"setting remote_logs is {address!r}, expected an address such as s3://bucket/logs or file:///mnt/logs"
            )
        options: dict[str, Any] = {name: _option(text) for name, text in parse_qsl(query)}
        if protocol in ("file", "local"):
            options["auto_mkdir"] = True
        try:
            # An optional extra: nothing else needs it.
            from fsspec.asyn import sync  # noqa: PLC0415
            from fsspec.core import url_to_fs  # noqa: PLC0415

            self._files, root = url_to_fs(address, **options)
        except ImportError as error:
            raise SettingsError(
                f"setting remote_logs is {address!r}: {error}; install treadle[remote-logs] and the package of the "
                f"protocol, such as fsspec[s3], fsspec[gcs] or fsspec[abfs]"
            ) from error
        except (TypeError, ValueError) as error:
            raise SettingsError(f"setting remote_logs ({address!r}) cannot be used: {error}") from error
        self._root = str(root).rstrip("/")
        self._sync = sync

    def pieces(self, key: str) -> list[Piece]:
        """Return the objects that make up a log without a gap, in their order.

        Raises:
            LogStoreError: the store cannot be read just now.
        """
        return covering(self._listed(key))

    def size(self, key: str) -> int:
        """Return how many bytes of a log there are, up to the first gap."""
        pieces = self.pieces(key)
        return pieces[-1].end if pieces else 0

    def put(self, key: str, offset: int, data: bytes) -> None:
        """Store the bytes of a log from ``offset`` on."""
        with self._told("write"):
            self._files.pipe_file(f"{self._folder(key)}/{name_of(offset, len(data))}", data)

    def read(self, pieces: Sequence[Piece], offset: int, size: int) -> bytes:
        """Return up to ``size`` bytes from ``offset`` on, of one object at most; nothing beyond the end.

        Raises:
            FileNotFoundError: the object is gone, since the log was gathered into larger ones: list it again.
        """
        for one in pieces:
            if one.offset <= offset < one.end:
                start = offset - one.offset
                with self._told("read"):
                    return bytes(
                        self._ask("cat_file", one.path, start=start, end=min(one.end - one.offset, start + size))
                    )
        return b""

    def gather(self, key: str, size: int, read: Callable[[int, int], bytes] | None = None) -> None:
        """Replace the small objects of a log that is over by large ones; cut off anywhere, nothing is lost.

        ``read(offset, size)`` is where the text is nearer than in the store.
        """
        listed = self._listed(key)
        source = StoredLog(self, key).slice if read is None else read
        wanted = [(start, min(size, start + SEGMENT)) for start in range(0, size, SEGMENT)]
        there = {(one.offset, one.end) for one in listed}
        for start, end in wanted:
            if (start, end) not in there:
                data = source(start, end - start)
                if len(data) != end - start:
                    return  # somebody else gathers or deletes it
                self.put(key, start, data)
        surplus = [one.path for one in listed if (one.offset, one.end) not in wanted and one.end <= size]
        self._remove(surplus)

    def delete_runs(self, runs: Sequence[tuple[date, str, str]]) -> None:
        """Delete the logs of runs, each named by its month, DAG id and run id."""
        for month, dag_id, run_id in runs:
            self._delete(key_of(month, f"{dag_id}/{run_id}"))

    def delete_dag(self, dag_id: str) -> None:
        """Delete the logs of a DAG, of all months."""
        with self._told("read"):
            self._files.invalidate_cache()
            try:
                months = self._files.ls(self._root, detail=False)
            except FileNotFoundError:
                return
        for month in months:
            self._delete(f"{str(month).rstrip('/').rpartition('/')[2]}/{checked(dag_id)}")

    def _delete(self, key: str) -> None:
        with self._told("delete from"):
            try:
                self._files.rm(self._folder(key), recursive=True)
            except FileNotFoundError:
                return

    def _remove(self, paths: Sequence[str]) -> None:
        for path in paths:
            with self._told("delete from"):
                try:
                    self._files.rm_file(path)
                except FileNotFoundError:
                    continue

    def _listed(self, key: str) -> list[Piece]:
        folder = self._folder(key)
        with self._told("read"):
            self._files.invalidate_cache()  # other processes write, too
            try:
                found = self._ask("ls", folder, detail=True)
            except FileNotFoundError:
                return []
        return [piece for one in found if (piece := piece_of(one)) is not None]

    def _ask(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method that reads; one that asks a server and has no answer by ``PATIENCE_SECONDS`` fails.

        The libraries of the stores try again for up to a minute and a half: so long no page can wait for a log.
        """
        if not self._files.async_impl:
            return getattr(self._files, method)(*args, **kwargs)
        call = getattr(self._files, f"_{method}")
        try:
            return self._sync(self._files.loop, call, *args, timeout=PATIENCE_SECONDS, **kwargs)
        except TimeoutError as error:
            raise TimeoutError(f"no answer within {PATIENCE_SECONDS:g} s") from error

    def _folder(self, key: str) -> str:
        return f"{self._root}/{checked(key)}"

    @contextmanager
    def _told(self, act: str) -> Iterator[None]:
        """Make what any file system raises, each its own, one error in words; what is missing to read stays so."""
        try:
            yield
        except Exception as error:
            # To write, what is missing is the store itself: S3 says so of a bucket that there is not.
            if isinstance(error, FileNotFoundError) and act != "write":
                raise
            raise LogStoreError(self.name, act, error) from error


def _option(text: str) -> object:
    return {"true": True, "false": False}.get(text.lower(), text)
