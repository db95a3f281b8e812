"""What makes a workload unusable, found before it is handed to a host. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final
from uuid import UUID

from treadle_worker.protocol import Subject

_TEXTS: Final = ("attempt_id", "month", "dag_id", "task_id", "file", "file_hash", "isolation", "log_path")
_TEXTS_OF_CALLBACK: Final = tuple(name for name in _TEXTS if name != "task_id")
_FORMS: Final[tuple[tuple[str, str, Callable[[str], object]], ...]] = (
    ("attempt_id", "a UUID", UUID),
    ("month", "a date such as 2026-03-01", date.fromisoformat),
)
_NUMBERS: Final = ("task_instance_id", "map_index", "try_number")


def subject_of(workload: Mapping[str, Any]) -> Subject:
    """Return what the reports of ``workload`` are about."""
    return "callback" if "callback" in workload else "task"


def problem_of(workload: Mapping[str, Any]) -> str | None:
    """Return why ``workload`` cannot run, as one sentence, or None."""
    unusable = _unusable(workload)
    if unusable is not None:
        name, expected = unusable
        return f"the workload has no usable {name}: expected {expected}, found {workload.get(name)!r:.100}"
    if not isinstance(workload.get("run"), Mapping):
        return "the workload says nothing about its run"
    for name in ("file", "log_path"):
        if not stays_below(workload[name]):
            return f"the workload's {name} leaves its folder: {workload[name]!r:.300}"
    seconds = workload.get("execution_timeout_seconds")
    if seconds is not None and (not isinstance(seconds, int | float) or seconds <= 0):
        return f"the workload's execution_timeout_seconds is {seconds!r}: expected a positive number or nothing"
    return None


def _unusable(workload: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first field that is missing or of another kind, and what it should be."""
    for name in _TEXTS if "callback" not in workload else _TEXTS_OF_CALLBACK:
        if not isinstance(workload.get(name), str) or not workload[name]:
            return name, "a text"
    for name in _NUMBERS:
        if not isinstance(workload.get(name), int):
            return name, "a number"
    for name, expected, read in _FORMS:
        try:
            read(workload[name])
        except ValueError:
            return name, expected
    return None


def stays_below(path: str) -> bool:
    """Tell whether a relative path cannot lead out of its folder."""
    return "\0" not in path and not os.path.isabs(path) and ".." not in path.split("/")
