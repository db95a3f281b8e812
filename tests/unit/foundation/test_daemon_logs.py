"""A daemon's lines: whole in its file, one line each on the terminal."""

from __future__ import annotations

import logging
import sys

from treadle_cli.standalone.daemon_logs import Lines


def _record(message: str, *, with_error: bool) -> logging.LogRecord:
    found = None
    if with_error:
        try:
            raise ValueError("\nthe first line\nSQL: and more")
        except ValueError:
            found = sys.exc_info()
    return logging.LogRecord("x", logging.ERROR, __file__, 1, message, None, found)


def test_a_line_has_time_daemon_level_and_message() -> None:
    line = Lines("scheduler", with_traceback=True).format(_record("started", with_error=False))
    stamp, daemon, level, message = line.split("  ")
    assert (daemon, level, message) == ("scheduler", "ERROR", "started")
    assert len(stamp) == len("2026-01-15 12:00:00.123")


def test_the_file_gets_the_traceback() -> None:
    text = Lines("scheduler", with_traceback=True).format(_record("failed", with_error=True))
    assert "Traceback" in text
    assert "SQL: and more" in text


def test_the_terminal_gets_one_line_with_the_errors_first_line() -> None:
    lines = Lines("scheduler", with_traceback=False)
    assert lines.format(_record("failed", with_error=True)).endswith("ERROR  failed: the first line")
    assert lines.format(_record("failed\nmore", with_error=False)).endswith("ERROR  failed")


def test_formatting_for_the_terminal_leaves_the_record_as_it_is_for_the_file() -> None:
    record = _record("failed", with_error=True)
    Lines("scheduler", with_traceback=False).format(record)
    assert "Traceback" in Lines("scheduler", with_traceback=True).format(record)
