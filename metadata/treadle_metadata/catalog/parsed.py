"""What parsing one DAG file gave, as plain values: the DAG processor's parent makes them from its child's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any

UNSTABLE = "unstable field"
SLOW = "slow import"
EXECUTOR = "unknown executor"
"""The kinds of warnings. All are about the file's last parse."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells whether a file has changed. ``hash`` is the SHA-256 of its bytes, ``inputs`` what else it read."""

    mtime_ns: int
    size: int
    hash: str
    inputs: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileError:
    """Why a file, or one DAG of it, could not be stored. ``message`` names file and line and says what to do."""

    message: str
    line: int | None = None
    stacktrace: str = ""
    dag_id: str | None = None
    """None: the whole file failed, and all its DAGs keep their last good version."""
    missing_pool: str | None = None
    """The pool that the DAG names and that was not there: once it is made, the file may be fine."""


@dataclass(frozen=True, slots=True)
class DagWarning:
    """Something that works, but should be mended."""

    dag_id: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class ParsedDag:
    """One DAG of a file. ``document`` is its plain JSON, ``again`` what a second run gave, if it differed."""

    dag_id: str
    document: Json
    digest: str
    again: Json | None = None


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """One parsed file. ``file`` is its path in the dags folder; ``slow`` are words on the lines that cost time."""

    file: str
    state: FileState
    parse_seconds: float
    code: str = ""
    dags: tuple[ParsedDag, ...] = ()
    errors: tuple[FileError, ...] = ()
    slow: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the file as a whole could not be read, so that nothing is known of its DAGs."""
        return any(error.dag_id is None for error in self.errors)
