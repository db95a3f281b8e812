"""Timetables of users' own: from an object to its document, and from the document's name back to the class.

The DAG processor's child makes documents; the process that evaluates custom timetables (``treadle_worker``) finds the
class again. Neither holds a credential. A class is named by its entry point, else by its module, else by its file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final

from treadle.document import ScheduleDocument
from treadle.errors import InvalidSchedule

GROUP: Final = "treadle.timetables"
"""The entry point group under which an administrator installs timetables."""

KINDS: Final = ("entry", "module", "file")


def document_of(timetable: Any) -> ScheduleDocument:
    """Return the plain form of a timetable whose class is not one of Treadle's.

    Raises:
        InvalidSchedule: the class cannot be found again by a name, or its ``serialize()`` cannot be read back.
    """
    kind = type(timetable)
    _validate(timetable)
    data = _data_of(timetable)
    zone = getattr(timetable, "timezone", "UTC")
    return ScheduleDocument(
        kind="custom",
        custom=name_of(kind),
        data=data,
        timezone=zone if isinstance(zone, str) else str(getattr(zone, "key", "UTC")),
        summary=str(timetable.summary),
        active_runs_limit=timetable.active_runs_limit,
        periodic=bool(timetable.periodic),
    )


def _validate(timetable: Any) -> None:
    if callable(validate := getattr(timetable, "validate", None)):
        try:
            validate()
        except Exception as error:
            raise InvalidSchedule("The timetable", type(timetable).__name__, f"is not valid: {error}") from error


def _data_of(timetable: Any) -> str:
    name = type(timetable).__name__
    try:
        data = json.dumps(timetable.serialize(), sort_keys=True)
        again = json.dumps(type(timetable).deserialize(json.loads(data)).serialize(), sort_keys=True)
    except Exception as error:
        advice = "Write serialize() and deserialize(data) so that the second reads what the first gave."
        raise InvalidSchedule("The timetable", name, f"cannot be stored: {error!r}.", advice) from error
    if again != data:
        raise InvalidSchedule("The timetable", name, f"is not what deserialize() makes of {data}: that gives {again}.")
    return data


def name_of(kind: type) -> str:
    """Return the name by which :func:`split` and the evaluating process find the class ``kind``."""
    if "<locals>" in kind.__qualname__:
        advice = "Define it at the top of a module."
        raise InvalidSchedule("The timetable", kind.__qualname__, "is defined inside a function.", advice)
    own = f"{kind.__module__}:{kind.__qualname__}"
    for one in metadata.entry_points(group=GROUP):
        if one.value.replace(" ", "") == own:
            return f"entry:{one.name}"
    if _is_importable(kind.__module__):
        return f"module:{own}"
    return f"file:{_path_of(kind)}:{kind.__qualname__}"


def split(name: str) -> tuple[str, str, str]:
    """Return how the class is found (one of :data:`KINDS`), where, and its qualified name ("" for an entry point).

    Raises:
        InvalidSchedule: it is no such name.
    """
    how, _, rest = name.partition(":")
    where, _, qualified = (rest, "", "") if how == "entry" else rest.rpartition(":")
    if how not in KINDS or not where:
        raise InvalidSchedule("The custom timetable", name, f"has a name that begins with none of {', '.join(KINDS)}.")
    return how, where, qualified


def deserialized(kind: Any, data: str) -> Any:
    """Return the timetable of class ``kind`` that gave ``data``."""
    plain: Mapping[str, Any] = json.loads(data or "{}")
    return kind.deserialize(dict(plain))


def _is_importable(module: str) -> bool:
    """Return True for a module that bears its file's name; a DAG file is run under a name of its own."""
    path = getattr(sys.modules.get(module), "__file__", None) or ""
    stem = os.path.basename(os.path.dirname(path) if os.path.basename(path) == "__init__.py" else path)
    return os.path.splitext(stem)[0] == module.rpartition(".")[2]


def _path_of(kind: type) -> str:
    """Return the file of the class, relative to the folder of ``sys.path`` that holds it, such as the dags folder."""
    module = sys.modules.get(kind.__module__)
    codes = (getattr(one, "__code__", None) for one in vars(kind).values())
    path: str | None = getattr(module, "__file__", None) or next((code.co_filename for code in codes if code), None)
    if path is None:
        raise InvalidSchedule("The timetable", kind.__qualname__, "is defined in no file.")
    path = os.path.abspath(path)
    for folder in sys.path:
        prefix = os.path.abspath(folder or ".").rstrip(os.sep) + os.sep
        if path.startswith(prefix):
            return path[len(prefix) :]
    return path
