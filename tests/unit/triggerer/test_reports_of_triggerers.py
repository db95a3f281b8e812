"""What a triggerer has to tell a server that is away, or fails at it: every event, and of the lines as many as fit."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.support.waiting import wait_until

from treadle_triggerer import aside, reporting
from treadle_triggerer.aside import Aside
from treadle_triggerer.reporting import Reporting
from treadle_triggerer.server import Server, ServerFailed, ServerRefused


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


class Choosy:
    """A server that fails at, or refuses, the events of one trigger, as long as they are of the kinds ``bad``."""

    def __init__(self, *bad: str, error: type[Exception] = ServerFailed) -> None:
        self.bad = set(bad)
        self.error = error
        self.calls = 0
        self.counted: list[tuple[int, str]] = []

    def record(self, body: dict[str, Any]) -> None:
        self.calls += 1
        if any(event["id"] == 7 and event["kind"] in self.bad for event in body["events"]):
            raise self.error("events answered 500: \0")
        self.counted += [(event["id"], event["kind"]) for event in body["events"]]


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(aside, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(aside, "LONGEST_PAUSE", 0.005)


def reported(server: Choosy, *numbers: int) -> tuple[Reporting, list[int]]:
    """Report events of these triggers, all but 7 of them watchers."""
    recorded: list[int] = []
    one = Reporting(cast("Server", server), lambda: "id", recorded.extend)
    watched = [{"number": number} if number != 7 else {} for number in numbers]
    one.add({"events": [{"id": id_, "kind": "event", **of} for id_, of in zip(numbers, watched, strict=True)]})
    one.start()
    assert one.flush(10)
    return one, recorded


@pytest.mark.usefixtures("_at_once")
def test_an_event_that_the_server_always_fails_at_holds_up_no_other_and_fails_its_trigger() -> None:
    server = Choosy("event")
    one, recorded = reported(server, *range(100))
    assert len(recorded) == 99
    assert server.calls < 50  # halves, not a hundred requests
    one.add({"events": [{"id": 200, "kind": "event"}]})
    wait_until(lambda: (7, "failed") in server.counted)
    assert ((200, "event") in server.counted, one.trouble()) == (True, None)
    one.end(10)


@pytest.mark.usefixtures("_at_once")
def test_a_server_that_fails_at_everything_fails_no_trigger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "MOST_TRIES", 10**6)
    server = Choosy("event", "failed")
    one, _ = reported(server, 7)
    wait_until(lambda: server.calls > 3 * aside.ENOUGH_TRIES)
    server.bad = {"failed"}  # it serves again
    wait_until(lambda: server.counted == [(7, "event")])
    one.end(10)


@pytest.mark.usefixtures("_at_once")
def test_the_failure_of_a_trigger_is_told_until_the_server_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "MOST_TRIES", 10)
    server = Choosy("event", "failed")
    one, _ = reported(server, 6, 7)
    wait_until(lambda: server.calls > 40)
    assert (one.trouble() or (7, ""))[0] == 7
    server.bad = {"event"}
    wait_until(lambda: (7, "failed") in server.counted)
    one.end(10)


def test_what_is_refused_of_a_trigger_is_told_in_plain_words_and_a_watcher_goes_on() -> None:
    server = Choosy("event", error=ServerRefused)
    one, recorded = reported(server, 6, 7, 8)
    assert (sorted(server.counted), recorded) == ([(6, "event"), (7, "failed"), (8, "event")], [6, 8])
    one.add({"events": [{"id": 7, "kind": "event", "number": 9}]})
    wait_until(lambda: recorded == [6, 8, 9])
    one.end(10)


def test_what_is_set_aside_is_tried_later_and_later() -> None:
    one = Aside()
    one.add("events", {"id": 1}, accepted=0, now=100.0)
    assert (one.seconds(100.0), one.take_due(100.5)) == (aside.FIRST_PAUSE, [])
    (part,) = one.take_due(101.0)
    assert one.seconds(101.0) is None
    pauses = []
    for _ in range(8):
        one.again(part, 0.0)
        pauses.append(one.seconds(0.0))
        one.take_due(1000.0)
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
    assert (part.is_hopeless(0), part.is_hopeless(1)) == (False, True)
