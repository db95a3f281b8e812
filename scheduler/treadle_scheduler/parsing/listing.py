"""What lies in the dags folder: Python files that may define DAGs, with what the file system says of each.

Hidden files, ``__pycache__`` and what ``.treadleignore`` names are left out. Folders are entered by their identity, so
that a loop of symbolic links ends, and a file that can be reached twice is listed once. A file that vanishes while it
is listed is not there.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treadle_scheduler.parsing.ignoring import Pattern, is_ignored, read_patterns

log = logging.getLogger(__name__)

MOST_PATH_BYTES: Final = 2000
"""A longer path fits no index of the database."""

_MOST_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as the file system has it."""

    mtime_ns: int
    size: int


def list_files(folder: str) -> dict[str, Seen] | None:
    """Return the Python files by path relative to ``folder``, or None if the folder itself cannot be read."""
    try:
        root = os.stat(folder)
        os.scandir(folder).close()
    except OSError:
        return None
    found: dict[str, Seen] = {}
    identities: set[tuple[int, int]] = set()
    for path, entry in _walk(folder, "", (), {(root.st_dev, root.st_ino)}):
        try:
            state = entry.stat()
        except OSError:
            continue
        identity = (state.st_dev, state.st_ino)
        if stat.S_ISREG(state.st_mode) and identity not in identities:
            identities.add(identity)
            found[path] = Seen(state.st_mtime_ns, state.st_size)
    return found


def _walk(
    folder: str, base: str, patterns: tuple[Pattern, ...], entered: set[tuple[int, int]]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    patterns = (*patterns, *read_patterns(folder, base))
    try:
        with os.scandir(folder) as entries:
            # Real files before links, so that the listed path of a file is its own.
            listed = sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))
    except OSError as error:
        log.warning("folder %s cannot be read: %s", folder, error.strerror)
        return
    for entry in listed:
        path = f"{base}/{entry.name}" if base else entry.name
        if not _has_usable_name(entry.name, path):
            continue
        try:
            is_folder = entry.is_dir()
        except OSError:
            continue
        if (is_folder or path.endswith(".py")) and not is_ignored(path, patterns, is_folder=is_folder):
            if is_folder:
                yield from _enter(entry, path, patterns, entered)
            else:
                yield path, entry


def _enter(
    entry: os.DirEntry[str], path: str, patterns: tuple[Pattern, ...], entered: set[tuple[int, int]]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        state = entry.stat()
    except OSError:
        return
    if (state.st_dev, state.st_ino) not in entered:
        entered.add((state.st_dev, state.st_ino))
        yield from _walk(entry.path, path, patterns, entered)


def _has_usable_name(name: str, path: str) -> bool:
    if name.startswith(".") or name == "__pycache__":
        return False
    try:
        return len(path.encode()) <= MOST_PATH_BYTES
    except UnicodeEncodeError:
        # No text, so neither the database nor a browser could name it.
        return False


def may_define_dags(content: bytes) -> bool:
    """Tell whether a file's text names this product, or the one it is compatible with, and a DAG.

    The same rule as in Airflow's safe mode: other modules of the folder are not run for nothing.
    """
    lowered = content.lower()
    # @asset makes a DAG without a word of it.
    return (b"dag" in lowered or b"asset" in lowered) and (b"treadle" in lowered or b"airflow" in lowered)


def read_file(path: str) -> bytes | None:
    """Return the content of a file, or None if it cannot be read. No more than 16 MB: then it is no source."""
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return None
