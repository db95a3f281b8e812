"""Importing a DAG file, and finding the DAG that a workload names in it.

Called in templates, in task children, and nowhere else: it runs user code. The file becomes a module whose name
depends on its path within the dags folder only, so that a class of it is the same class in every attempt.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import linecache
import os
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treadle import collection
from treadle.dags import DAG

_FileState = tuple[int, int]


class DagFileError(Exception):
    """A DAG file cannot be imported, or does not define the DAG that is asked for; the cause is chained."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A DAG file's DAGs by id, and the state (mtime in ns, size) of it and of what it imported from the dags folder.

    The file's own state was taken before it was imported, so that an edit meanwhile is noticed. ``is_stored``: its text
    came from the database, so that what is on disk does not count.
    """

    dags: Mapping[str, DAG]
    path: str
    state: _FileState | None
    modules: Mapping[str, _FileState | None]
    is_stored: bool = False
    code_hash: str | None = None
    """The SHA-256 of the text that was imported from disk."""

    def changed(self, *, modules_too: bool) -> str | None:
        """Return which file was edited since, in words, or None; the imported modules are looked at if asked for."""
        looked_at = dict(self.modules if modules_too else {})
        if not self.is_stored:
            looked_at[self.path] = self.state
        for path, state in looked_at.items():
            if _state(path) != state:
                return f"{path} was edited after this process had imported it"
        return None


def module_name(file: str) -> str:
    """Return the name under which the DAG file ``file`` (relative to the dags folder) is imported."""
    stem = os.path.splitext(os.path.basename(file))[0]
    return f"dag_file_{zlib.crc32(file.encode(errors='surrogateescape')):08x}_{stem}"


def load_dag_file(file: str, dags_folder: str, source: str | None = None) -> LoadedFile:
    """Import ``file`` and return what it defines; with ``source`` that text stands for what the file has on disk.

    Modules that the text imports from the dags folder are those that are there now, and ``__file__`` is the same.

    Raises:
        DagFileError: the file is missing, or its code raised (``sys.exit`` included); the cause is chained.
    """
    path = os.path.join(dags_folder, file)
    name = module_name(file)
    collection.begin()
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DagFileError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    state, code_hash = _state(path), _hash(path) if source is None else None
    try:
        if source is None:
            spec.loader.exec_module(module)
        else:
            _execute(source, path, vars(module))
        dags = {dag.dag_id: dag for dag in collection.collect(vars(module).values())}
    except BaseException as error:
        del sys.modules[name]
        raise DagFileError(f"{type(error).__name__}: {error}") from error
    modules = _modules_below(dags_folder, except_for=path)
    return LoadedFile(dags, path, state, modules, source is not None, code_hash)


def _execute(source: str, path: str, namespace: dict[str, Any]) -> None:
    # Tracebacks show the lines of this text, not those that stand at the same place on disk by now.
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec", dont_inherit=True), namespace)


def _modules_below(folder: str, *, except_for: str) -> dict[str, _FileState | None]:
    prefix = folder.rstrip(os.sep) + os.sep
    paths = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return {path: _state(path) for path in paths if path and path.startswith(prefix) and path != except_for}


def pick_dag(dags: Mapping[str, DAG], dag_id: str, file: str) -> DAG:
    """Return the DAG ``dag_id``.

    Raises:
        DagFileError: the file does not define it (any more).
    """
    if dag_id in dags:
        return dags[dag_id]
    close = difflib.get_close_matches(dag_id, dags, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    defined = ", ".join(sorted(dags)) or "none"
    raise DagFileError(f"{file} does not define the DAG {dag_id!r} (its DAGs: {defined}){hint}")


def _hash(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _state(path: str) -> _FileState | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
