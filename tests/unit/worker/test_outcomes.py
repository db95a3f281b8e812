"""From the end of a process to the report of its attempt."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_executors.conformance import make_workload
from treadle_worker.outcomes import ERROR_KINDS, OUTCOMES, Cause, Exit, Place, report_of_child, report_of_exit

PLACE = Place("host", 4711, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:01.000000Z")
WORKLOAD = make_workload("quick")


def exited(code: int) -> Exit:
    return Exit(code << 8, 0.5, 10 * 2**20)


def killed(number: int) -> Exit:
    return Exit(number, 0.5, 10 * 2**20)


@pytest.mark.parametrize(
    ("end", "cause", "kind"),
    [
        (exited(3), Cause.NOTHING, "exit"),
        (exited(0), Cause.NOTHING, "exit"),
        (killed(signal.SIGKILL), Cause.NOTHING, "out_of_memory"),
        (killed(signal.SIGSEGV), Cause.NOTHING, "signal"),
        (killed(64), Cause.NOTHING, "signal"),
        (killed(signal.SIGKILL), Cause.TERMINATED, "terminated"),
        (exited(143), Cause.TERMINATED, "terminated"),
        (killed(signal.SIGKILL), Cause.TIMEOUT, "timeout"),
        (killed(signal.SIGKILL), Cause.DISCONNECTED, "protocol"),
        (killed(signal.SIGKILL), Cause.LOST, "lost"),
    ],
)
def test_each_end_is_told_apart(end: Exit, cause: Cause, kind: str) -> None:
    report = report_of_exit(WORKLOAD, PLACE, end, cause, "the reason")
    assert report["outcome"] == "failed"
    assert report["error"] is not None
    assert report["error"]["kind"] == kind
    assert (cause is Cause.NOTHING) != ("the reason" in report["error"]["message"])
    assert (report["signal"] is None) != (report["exit_code"] is None)
    assert (report["cpu_seconds"], report["peak_rss_bytes"]) == (0.5, 10 * 2**20)


def test_a_kill_names_the_peak_memory() -> None:
    report = report_of_exit(WORKLOAD, PLACE, killed(9), Cause.NOTHING, "")
    assert report["error"] is not None
    assert report["error"]["message"] == (
        "the task process was killed by signal 9 (SIGKILL), probably out of memory; peak RSS 10 MiB"
    )


def test_a_childs_word_is_taken_but_not_about_who_it_is() -> None:
    message = {
        "kind": "finish",
        "outcome": "success",
        "attempt_id": "another",
        "task_instance_id": 666,
        "hostname": "elsewhere",
        "pid": 1,
        "xcoms": [{"key": "return_value", "value": "1", "length": None}],
        "cpu_seconds": 0.25,
    }
    report = report_of_child(WORKLOAD, PLACE, message)
    assert (report["attempt_id"], report["task_instance_id"]) == (WORKLOAD["attempt_id"], WORKLOAD["task_instance_id"])
    assert (report["hostname"], report["pid"]) == ("host", 4711)
    assert (report["outcome"], report["cpu_seconds"]) == ("success", 0.25)
    assert report["xcoms"] == message["xcoms"]


@given(
    st.dictionaries(
        st.sampled_from(
            ["outcome", "error", "exit_code", "cpu_seconds", "peak_rss_bytes", "retry_delay_seconds", "xcoms"]
        ),
        st.none()
        | st.integers()
        | st.floats()
        | st.lists(st.integers())
        | st.text()
        | st.sampled_from(sorted(OUTCOMES))
        | st.dictionaries(st.text(), st.integers()),
    )
)
def test_whatever_a_child_sends_becomes_a_lawful_report(message: dict[str, Any]) -> None:
    report = report_of_child(WORKLOAD, PLACE, message)
    assert report["outcome"] in OUTCOMES
    assert report["error"] is None or report["error"]["kind"] in ERROR_KINDS
    for name in ("exit_code", "cpu_seconds", "peak_rss_bytes", "retry_delay_seconds"):
        assert report[name] is None or isinstance(report[name], int | float)
