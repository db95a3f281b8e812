"""From what user code raised to how its attempt ended. Pure; called by the task runtime.

The order of the rules is that of airflow-surface 1.3: skip, fail without retry, time limit, told to stop,
``sys.exit`` and anything else, which fails and may be retried (the server decides).
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from treadle.errors import FailTask, SkipTask, StepSuspended, TaskTerminated, TaskTimeout
from treadle.errors_of_waits import TaskSuspended
from treadle.runtime import masking
from treadle.runtime.showing import storable_text

MAX_TRACEBACK: Final = 64 * 1024
"""Characters of a traceback that are kept: its beginning and its end."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended: ``outcome`` and ``error`` as in ``AttemptResult``; ``exit_code`` of a ``sys.exit``."""

    outcome: str
    error: dict[str, str] | None = None
    exit_code: int | None = None
    resume: dict[str, str] | None = None
    """When and for which step a suspended attempt goes on."""
    deferral: dict[str, Any] | None = None
    """What a deferred attempt waits for (``treadle_worker.protocol.Deferral``)."""


SUCCESS: Final = Ending("success")


def ending_of(raised: BaseException) -> Ending:
    """Return how an attempt ended whose user code raised ``raised``."""
    match raised:
        case SkipTask():
            return Ending("skipped")
        case FailTask():
            return Ending("failed_without_retry", error_of("exception", raised))
        case StepSuspended() | TaskSuspended():
            return Ending("suspended", resume=raised.resume)
        case TaskTimeout():
            return Ending("failed", error_of("timeout", raised))
        case TaskTerminated():
            return Ending("failed", error_of("terminated", raised))
        case SystemExit():
            code = _exit_code(raised)
            message = f"the task called sys.exit({raised.code!r}); return from the function to succeed"
            return Ending("failed", error_of("exit", raised, message), code)
        case _:
            return Ending("failed", error_of("exception", raised))


def error_of(kind: str, raised: BaseException, message: str | None = None) -> dict[str, str]:
    """Return what is stored of an exception (``treadle_worker.protocol.AttemptError``), masked."""
    return {
        "kind": kind,
        "type": type(raised).__name__,
        "message": _clean(message or _message(raised)),
        "traceback": _clean(traceback_of(raised)),
    }


def traceback_of(raised: BaseException) -> str:
    """Return the traceback as text, without the frames of the task runtime that stand before user code."""
    try:
        text = "".join(traceback.format_exception(type(raised), raised, _user_frames(raised.__traceback__)))
    except Exception as error:
        return f"{type(raised).__name__}, whose traceback cannot be written ({type(error).__name__})"
    if len(text) <= MAX_TRACEBACK:
        return text
    half = MAX_TRACEBACK // 2
    return f"{text[:half]}\n... ({len(text) - MAX_TRACEBACK:,} characters left out)\n{text[-half:]}"


def _user_frames(frames: TracebackType | None) -> TracebackType | None:
    first = frames
    while first is not None and first.tb_frame.f_globals.get("__name__", "").startswith("treadle."):
        first = first.tb_next
    # An error that is the runtime's own (an XCom refused, say) has no other frames: then they are shown.
    return first or frames


def _message(raised: BaseException) -> str:
    try:
        return str(raised) or type(raised).__name__
    except Exception as error:
        return f"{type(raised).__name__}, whose text cannot be read ({type(error).__name__})"


def _exit_code(raised: SystemExit) -> int:
    if raised.code is None:
        return 0
    return raised.code if isinstance(raised.code, int) else 1


def _clean(text: str) -> str:
    return storable_text(masking.mask(text))
