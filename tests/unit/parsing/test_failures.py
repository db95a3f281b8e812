"""Every way in which a parse can end without DAGs has a sentence that names the file and the way out."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from treadle_scheduler.parsing.failures import Cause, Limits, clean, error_of_answer, error_of_end

LIMITS = Limits(timeout_seconds=30, memory_mb=1024, processes=200)


def _status(run: str) -> int:
    pid = os.fork()
    if pid == 0:
        exec(run, {"os": os, "signal": signal})
        os._exit(99)
    return os.waitpid(pid, 0)[1]


@pytest.mark.parametrize(
    ("cause", "run", "words"),
    [
        (Cause.TIMEOUT, "os.kill(os.getpid(), 9)", "parse_timeout_seconds"),
        (Cause.PROCESSES, "os.kill(os.getpid(), 9)", "more than 200 processes"),
        (Cause.NONE, "os._exit(3)", "exit code 3"),
        (Cause.NONE, "os._exit(0)", "exit code 0"),
        (Cause.NONE, "os.kill(os.getpid(), 9)", "out of memory"),
        (Cause.NONE, "signal.signal(15, signal.SIG_DFL); os.kill(os.getpid(), 15)", "15 (SIGTERM)"),
        (Cause.ANSWER, "os._exit(0)", "no answer"),
    ],
)
def test_each_end_has_its_own_sentence(cause: Cause, run: str, words: str) -> None:
    error = error_of_end("team/a.py", cause, _status(run), LIMITS, "it printed this")
    assert error.message.startswith("team/a.py")
    assert words in error.message
    assert "it printed this" in error.stacktrace


@pytest.mark.parametrize(
    ("cause", "words"), [("timeout", "after 30 s"), ("memory", "more than 1024 MB"), ("exception", "KeyError: 'x'")]
)
def test_reported_errors_name_file_and_line(cause: str, words: str) -> None:
    message = "a.py, line 4: KeyError: 'x'"
    error = error_of_answer("a.py", {"cause": cause, "line": 4, "message": message}, LIMITS, "")
    assert error.message.startswith("a.py, line 4: ")
    assert words in error.message
    assert error.line == 4


def test_texts_are_made_fit_for_the_database() -> None:
    assert clean("a\0b\ud800c", 100) == "a\\0b\\ud800c"
    long = clean("x" * 1000, 100)
    assert len(long) < 200
    assert "900 characters left out" in long
    assert sys.getsizeof(clean("y" * 99, 100)) < 1000
