"""What a triggerer has to tell a server that is away: every event, and of what triggers log as much as fits."""

from __future__ import annotations

from typing import Any, cast

import pytest

from treadle_triggerer import reporting
from treadle_triggerer.reporting import Reporting
from treadle_triggerer.server import Server


class Kept:
    """A server that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def record(self, body: dict[str, Any]) -> None:
        self.told.append(body)


def test_lines_that_wait_are_bounded_and_events_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "MOST_TEXT", 100)
    server = Kept()
    one = Reporting(cast("Server", server), lambda: "id", lambda _: None)
    for number in range(50):
        one.add({"events": [{"id": number, "kind": "event"}], "logs": [{"id": number, "text": "x" * 10}]})
    one.start()
    assert one.flush(10)
    one.add({"logs": [{"id": 51, "text": "y" * 90}]})
    assert one.flush(10)
    one.end(10)
    first, second = server.told
    assert (len(first["events"]), len(first["logs"])) == (50, 10)
    assert [line["id"] for line in second["logs"]] == [51]
