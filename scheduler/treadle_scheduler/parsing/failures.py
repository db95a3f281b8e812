"""Why a file's parse gave no documents, in words: one sentence for each way in which a child can end.

Pure. Called by ``pool`` with what it knows of a child's end. Each message names the file, the line where that is known,
what happened, and what to do.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from treadle_metadata.catalog import FileError

MOST_MESSAGE: int = 10_000
MOST_TRACE: int = 60_000


class Cause(StrEnum):
    """Why the pool killed a child."""

    NONE = "none"
    TIMEOUT = "timeout"
    PROCESSES = "processes"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that messages name."""

    timeout_seconds: float
    memory_mb: int
    processes: int


def error_of_end(file: str, cause: Cause, status: int, limits: Limits, output: str) -> FileError:
    """Return the error of a file whose child ended without an answer. ``status`` is that of ``os.wait``."""
    match cause:
        case Cause.TIMEOUT:
            text = _timeout(file, None, limits)
        case Cause.PROCESSES:
            text = (
                f"{file}: importing the file started more than {limits.processes} processes; they were killed. "
                "A DAG file must only define DAGs: start processes in a task"
            )
        case Cause.ANSWER:
            text = f"{file}: the parsing process sent something that is no answer; does the file write to its sockets?"
        case _:
            text = _own_end(file, status)
    return FileError(clean(text, MOST_MESSAGE), None, clean(_printed(output), MOST_TRACE))


def error_of_answer(file: str, error: Mapping[str, Any], limits: Limits, output: str) -> FileError:
    """Return an error that the child itself reported."""
    line = error.get("line")
    match error.get("cause"):
        case "timeout":
            text = _timeout(file, line, limits)
        case "memory":
            text = (
                f"{_place(file, line)}: importing the file needs more than {limits.memory_mb} MB of memory "
                "(setting parse_memory_mb). Move the work into a task, or raise the limit"
            )
        case _:
            text = str(error.get("message"))
    trace = str(error.get("stacktrace") or "") + _printed(output)
    dag_id = error.get("dag_id")
    return FileError(
        clean(text, MOST_MESSAGE),
        line if isinstance(line, int) else None,
        clean(trace, MOST_TRACE),
        dag_id if isinstance(dag_id, str) else None,
    )


def _timeout(file: str, line: int | None, limits: Limits) -> str:
    doing = " at this line" if line is not None else ""
    return (
        f"{_place(file, line)}: importing the file was still under way{doing} after {limits.timeout_seconds:g} s "
        "and was ended (setting parse_timeout_seconds). Move the work into a task, or raise the limit"
    )


def _own_end(file: str, status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL:
            return (
                f"{file}: the parsing process was killed (SIGKILL) while it imported the file; most often the system "
                "was out of memory. Move the work into a task, or give the machine more memory"
            )
        return (
            f"{file}: the parsing process was killed by signal {_signal_name(number)} while it imported the file: "
            "a library that the file imports crashed, or the file sent the signal itself"
        )
    return (
        f"{file}: the file ended the parsing process with exit code {os.WEXITSTATUS(status)} instead of defining DAGs "
        "(os._exit, or a library that does the same). Remove the call, or make it in a task"
    )


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def _place(file: str, line: int | None) -> str:
    return file if line is None else f"{file}, line {line}"


def _printed(output: str) -> str:
    return f"\nOutput of the file:\n{output}" if output.strip() else ""


def clean(text: str, most: int) -> str:
    """Return ``text`` as the database can hold it: no NUL, no halves of surrogate pairs, and not too long."""
    text = text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n... ({len(text) - most} characters left out) ...\n{text[-most // 2 :]}"
