"""From how a process ended to the report of its attempt. Pure: no process, no socket, no clock.

Called by the host. A child's own word counts first; without it the exit status decides, read in the light of what the
host itself did to the process (terminated it, ended it for its time limit, saw it close its socket).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeVar, cast, get_args

from treadle.operator_links import lawful
from treadle_worker.protocol import (
    AttemptError,
    Deferral,
    EmittedAssetEvent,
    ErrorKind,
    FinishReport,
    Outcome,
    PushedXCom,
    Workload,
)
from treadle_worker.workloads import subject_of

T = TypeVar("T")

OUTCOMES: Final = frozenset(get_args(Outcome)) - {"handed_back"}
"""What a task child may report."""
ERROR_KINDS: Final = frozenset(get_args(ErrorKind))
_LARGEST_NUMBER: Final = 2**53
_LONGEST_MESSAGE: Final = 16 * 1024
_LONGEST_REASON: Final = 500
_LONGEST_TRACEBACK: Final = 256 * 1024


class Cause(StrEnum):
    """What the host did to a process before it ended."""

    NOTHING = "nothing"
    TERMINATED = "terminated"
    TIMEOUT = "timeout"
    DISCONNECTED = "disconnected"
    LOST = "lost"
    HANDED_BACK = "handed_back"
    """Ended, since this host was told to stop: the server will have it run elsewhere."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How the kernel says that a process ended: the status of ``wait4``, CPU seconds and peak memory."""

    status: int
    cpu_seconds: float | None
    peak_rss_bytes: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when an attempt ran."""

    hostname: str
    pid: int | None
    started_at: str
    ended_at: str


def report_of_child(workload: Workload, place: Place, message: Mapping[str, Any]) -> FinishReport:
    """Return the report of an attempt whose child sent ``message``; what it says about other attempts is ignored."""
    outcome, error = message.get("outcome"), message.get("error")
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        sentence = f"the task process reported the outcome {outcome!r}; expected one of {', '.join(sorted(OUTCOMES))}"
        return report_of_error(workload, place, _error("protocol", "BadReport", sentence))
    if error is not None:
        error = _checked_error(error)
    report = _report(workload, place, cast("Outcome", outcome), error)
    report["exit_code"] = _number(message.get("exit_code"), int)
    report["cpu_seconds"] = _number(message.get("cpu_seconds"), float)
    report["peak_rss_bytes"] = _number(message.get("peak_rss_bytes"), int)
    report["retry_delay_seconds"] = _number(message.get("retry_delay_seconds"), float)
    report["called_back"] = message.get("called_back") is True
    report["xcoms"] = _xcoms(message.get("xcoms"))
    report["asset_events"] = [cast("EmittedAssetEvent", one) for one in _dicts(message.get("asset_events"))]
    report["rendered_fields"] = _only(message.get("rendered_fields"), dict)
    report["rendered_map_index"] = _only(message.get("rendered_map_index"), str)
    links = lawful(message.get("links"))
    if links:
        report["links"] = links
    if outcome == "suspended":
        resume = _only(message.get("resume"), dict) or {}
        report["resume"] = {name: str(resume.get(name, "")) for name in ("at", "name", "inputs")}
        if not _is_moment(report["resume"]["at"]):
            sentence = f"the task process was suspended until {report['resume']['at']!r:.100}, which is no time"
            return report_of_error(workload, place, _error("protocol", "BadReport", sentence))
    if outcome == "deferred":
        deferral = _deferral(message.get("deferral"))
        if deferral is None:
            sentence = f"the task process was deferred by {message.get('deferral')!r:.200}, which is no deferral"
            return report_of_error(workload, place, _error("protocol", "BadReport", sentence))
        report["deferral"] = deferral
    return report


def report_of_exit(workload: Workload, place: Place, end: Exit, cause: Cause, reason: str) -> FinishReport:
    """Return the report of an attempt whose process ended without one; ``reason`` explains the cause."""
    report = report_of_error(workload, place, _error_of_exit(end, cause, reason))
    if os.WIFSIGNALED(end.status):
        report["signal"] = os.WTERMSIG(end.status)
    else:
        report["exit_code"] = os.waitstatus_to_exitcode(end.status)
    report["cpu_seconds"] = end.cpu_seconds
    report["peak_rss_bytes"] = end.peak_rss_bytes
    return report


def report_of_error(workload: Workload, place: Place, error: AttemptError) -> FinishReport:
    """Return the report of an attempt that failed before or outside of user code."""
    return _report(workload, place, "failed", error)


def explained(report: FinishReport, cause: Cause, reason: str) -> FinishReport:
    """Return the report of a child that was told to stop, with the reason, which only the host was told."""
    error = report["error"]
    if error is None or error["kind"] != "terminated" or cause is not Cause.TERMINATED or not reason:
        return report
    message = f"{error['message']}: {reason}"[:_LONGEST_MESSAGE]
    return {**report, "error": {**error, "message": message}}


def handed_back(report: FinishReport, reason: str) -> FinishReport:
    """Return a report as one of an attempt that was handed back, unless it had come to its end all the same."""
    if report["outcome"] in ("success", "skipped", "deferred"):
        return report
    error = error_of("terminated", "HandedBack", f"the attempt was handed back and will be made again: {reason}")
    return {**report, "outcome": "handed_back", "error": error, "xcoms": [], "asset_events": []}


def error_of(kind: ErrorKind, name: str, message: str, traceback: str | None = None) -> AttemptError:
    """Return an error with its texts cut to what the server stores."""
    error: AttemptError = {"kind": kind, "type": name, "message": message[:_LONGEST_MESSAGE]}
    if traceback:
        error["traceback"] = traceback[-_LONGEST_TRACEBACK:]
    return error


_error = error_of


def _error_of_exit(end: Exit, cause: Cause, reason: str) -> AttemptError:
    if cause in (Cause.TERMINATED, Cause.HANDED_BACK):
        return _error("terminated", "Terminated", f"the attempt was ended: {reason}")
    if cause is Cause.TIMEOUT:
        return _error("timeout", "TaskTimeout", reason)
    if cause is Cause.DISCONNECTED:
        return _error("protocol", "Disconnected", reason)
    if cause is Cause.LOST:
        return _error("lost", "ProcessLost", reason)
    if not os.WIFSIGNALED(end.status):
        code = os.waitstatus_to_exitcode(end.status)
        sentence = f"the task process ended with exit code {code} before it reported a result (os._exit, or a crash)"
        return _error("exit", "ProcessExit", sentence)
    number = os.WTERMSIG(end.status)
    name = _signal_name(number)
    if number == signal.SIGKILL:
        peak = _mebibytes(end.peak_rss_bytes)
        sentence = f"the task process was killed by signal 9 ({name}), probably out of memory; peak RSS {peak}"
        return _error("out_of_memory", "Killed", sentence)
    return _error("signal", name, f"the task process was killed by signal {number} ({name})")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _mebibytes(count: int | None) -> str:
    return "unknown" if count is None else f"{count / 2**20:.0f} MiB"


def _checked_error(error: Any) -> AttemptError:
    if not isinstance(error, Mapping):
        return _error("protocol", "BadReport", f"the task process reported an error that is no object: {error!r}")
    kind = error.get("kind")
    checked = _error(
        cast("ErrorKind", kind) if kind in ERROR_KINDS else "exception",
        str(error.get("type", "Exception")),
        str(error.get("message", "")),
        _only(error.get("traceback"), str),
    )
    for name in ("retry_action", "retry_reason"):
        if isinstance(error.get(name), str):
            checked[name] = error[name][:_LONGEST_REASON]
    return checked


def _deferral(value: Any) -> Deferral | None:
    """Return what a child says that it waits for, if the server can store it."""
    plain = _only(value, dict) or {}
    texts = [plain.get(name) for name in ("classpath", "kwargs", "next_method", "next_kwargs")]
    if not all(isinstance(text, str) and text for text in texts):
        return None
    classpath, kwargs, next_method, next_kwargs = map(str, texts)
    return {
        "classpath": classpath,
        "kwargs": kwargs,
        "weight": _number(plain.get("weight"), int) or 1,
        "next_method": next_method,
        "next_kwargs": next_kwargs,
        "timeout_seconds": _number(plain.get("timeout_seconds"), float),
        "execution_timeout_seconds": _number(plain.get("execution_timeout_seconds"), float),
        "ends_in_worker": plain.get("ends_in_worker") is True,
    }


def _xcoms(value: Any) -> list[PushedXCom]:
    return [cast("PushedXCom", one) for one in _dicts(value)]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in _only(value, list) or [] if isinstance(one, dict)]


def _number(value: Any, kind: type) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return kind(value) if -_LARGEST_NUMBER < value < _LARGEST_NUMBER else None


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _only(value: Any, kind: type[T]) -> T | None:
    return value if isinstance(value, kind) else None


def _report(workload: Workload, place: Place, outcome: Outcome, error: AttemptError | None) -> FinishReport:
    return {
        "attempt_id": workload["attempt_id"],
        "task_instance_id": workload["task_instance_id"],
        "month": workload["month"],
        "outcome": outcome,
        "started_at": place.started_at,
        "ended_at": place.ended_at,
        "hostname": place.hostname,
        "pid": place.pid,
        "exit_code": None,
        "signal": None,
        "peak_rss_bytes": None,
        "cpu_seconds": None,
        "error": error,
        "xcoms": [],
        "asset_events": [],
        "rendered_fields": None,
        "rendered_map_index": None,
        "retry_delay_seconds": None,
        "called_back": False,
        "subject": subject_of(workload),
    }
