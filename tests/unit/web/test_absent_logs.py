"""An attempt without a log is answered with a sentence: it wrote none, has written none yet, or ran elsewhere."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from treadle_metadata.queries import logs

ENDED = datetime(2026, 1, 15, tzinfo=UTC)
HERE = socket.gethostname()


@pytest.mark.parametrize(
    ("ended_at", "hostname", "sentence"),
    [
        (ENDED, HERE, "try 2 wrote no log"),
        (ENDED, None, "try 2 wrote no log"),
        (None, HERE, "try 2 has written no log yet"),
        (None, None, "try 2 has written no log yet"),
        (
            ENDED,
            "far-away",
            "try 2 wrote no log here; it ran on 'far-away': if that has a logs folder of its own, look there",
        ),
    ],
)
def test_it_is_said_why_a_log_is_not_there(
    ended_at: datetime | None, hostname: str | None, sentence: str, tmp_path: Path
) -> None:
    attempt = {"try_number": 2, "ended_at": ended_at, "hostname": hostname}
    assert logs.why_empty(tmp_path / "none.jsonl", attempt) == sentence
    (tmp_path / "empty.jsonl").touch()
    assert logs.why_empty(tmp_path / "empty.jsonl", attempt) == sentence


def test_nothing_is_said_of_a_log_with_lines(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text("{}\n")
    attempt = {"try_number": 1, "ended_at": None, "hostname": HERE}
    assert logs.why_empty(tmp_path / "some.jsonl", attempt) is None
