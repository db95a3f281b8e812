"""Importing a DAG file in a template or task child, and finding the DAG that a workload names in it."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class DagFileError(Exception):
    """A DAG file cannot be imported, or does not define the DAG that is asked for; the cause is chained."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A DAG file's DAGs by id, and the state (mtime in ns, size) of the modules that it imported from the dags folder."""

    dags: Mapping[str, Any]
    modules: Mapping[str, tuple[int, int] | None]

    def changed(self) -> str | None:
        """Return which imported module was edited since, in words, or None."""
        for path, state in self.modules.items():
            if _state(path) != state:
                return f"{path} was edited after this template had imported it"
        return None


def pick_dag(dags: Mapping[str, Any], dag_id: str, file: str) -> Any:
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


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
