"""Log files hold one JSON object per line, whatever is written."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_worker.task_log import MAX_LINE_BYTES, LineSplitter, TaskLog, timestamp


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_entry_has_time_level_source_and_text(tmp_path: Path) -> None:
    log = TaskLog(str(tmp_path / "a" / "b" / "attempt=1.jsonl"))
    log.write("info", "task", 'one "quoted"\nline \N{SNOWMAN} \x00', logger="mine", exc="Traceback", seconds=0.25)
    assert lines_of(tmp_path / "a" / "b" / "attempt=1.jsonl") == [
        {
            "time": "1970-01-01T00:00:00.250000Z",
            "level": "info",
            "source": "task",
            "text": 'one "quoted"\nline \N{SNOWMAN} \x00',
            "logger": "mine",
            "exc": "Traceback",
        }
    ]


def test_two_writers_append_to_one_file(tmp_path: Path) -> None:
    first, second = TaskLog(str(tmp_path / "x")), TaskLog(str(tmp_path / "x"))
    for number in range(3):
        first.write("info", "task", f"first {number}")
        second.write_output("stdout", [(f"second {number}".encode(), False)])
    assert [line["text"] for line in lines_of(tmp_path / "x")] == [
        f"{who} {number}" for number in range(3) for who in ("first", "second")
    ]


def test_texts_and_tracebacks_are_masked(tmp_path: Path) -> None:
    log = TaskLog(str(tmp_path / "x"), mask=lambda text: text.replace("hunter2", "***"))
    log.write("error", "task", "password hunter2", exc="ValueError: hunter2")
    log.write_output("stderr", [(b"echo hunter2", False)])
    assert "hunter2" not in (tmp_path / "x").read_text()
    assert (tmp_path / "x").read_text().count("***") == 3


def test_a_log_that_cannot_be_written_loses_lines_and_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = TaskLog(str(tmp_path / "file" / "attempt=1.jsonl"))
    log.write("info", "task", "lost")
    assert log.dropped == 1


def test_lines_lost_on_a_full_disk_are_told_of_by_the_next_one_that_finds_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = TaskLog(str(tmp_path / "x"))
    log.write("info", "task", "one")
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda fd, data: write(fd, data[:5]))
        log.write("info", "task", "two")
        full.setattr(os, "write", lambda *_: os.close(-1))
        log.write_output("stdout", [(b"three", False), (b"four", False)])
    log.write("info", "task", "five")
    log.write("info", "task", "six")
    found = (tmp_path / "x").read_text().splitlines()
    assert found.pop(1) == '{"tim'
    lines = [json.loads(line) for line in found]
    assert [line["text"] for line in lines] == [
        "one",
        f"3 lines of this log are lost: {os.strerror(errno.EBADF)}",
        "five",
        "six",
    ]
    assert (lines[1]["level"], lines[1]["source"], log.dropped) == ("error", "treadle", 3)


def test_bytes_that_are_no_text_are_written_escaped(tmp_path: Path) -> None:
    log = TaskLog(str(tmp_path / "x"))
    log.write_output("stdout", [(b"\xff\xfe", False)])
    assert lines_of(tmp_path / "x")[0]["text"] == r"\xff\xfe"


@given(st.lists(st.binary(max_size=40)))
def test_lines_come_out_as_they_went_in_however_the_stream_is_cut(chunks: list[bytes]) -> None:
    splitter = LineSplitter()
    found = [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.flush()
    expected = b"".join(chunks).split(b"\n")
    if not expected[-1]:
        expected.pop()
    complete = b"".join(chunks).count(b"\n")
    stripped = [line.removesuffix(b"\r") for line in expected[:complete]] + expected[complete:]
    assert [line for line, _ in found] == stripped
    assert not any(continued for _, continued in found)


@given(st.integers(0, 4 * MAX_LINE_BYTES), st.integers(1, 3 * MAX_LINE_BYTES))
def test_an_overlong_line_comes_in_pieces_of_the_limit_at_most(length: int, cut: int) -> None:
    splitter, line = LineSplitter(), b"x" * length
    found = splitter.feed(line[:cut]) + splitter.feed(line[cut:] + b"\nnext\n")
    assert found[-1] == (b"next", False)
    pieces = found[:-1]
    assert b"".join(piece for piece, _ in pieces) == line
    assert all(len(piece) <= MAX_LINE_BYTES for piece, _ in pieces)
    assert [continued for _, continued in pieces] == [False] + [True] * (len(pieces) - 1)


def test_a_timestamp_is_iso_8601_in_utc() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", timestamp())
