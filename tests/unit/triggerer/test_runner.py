"""Triggers in one loop: fired, failed alone, put down, cancelled."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
from tests.support.waiting import until

from treadle.runtime.masking import MASKER
from treadle.triggers import BaseTrigger, TaskSkippedEvent, TriggerEvent
from treadle_triggerer import one
from treadle_triggerer.runner import Runner

SEEN: list[str] = []


class Told(BaseTrigger):
    """Does what it is told, and notes what happens to it."""

    cancelled_by_success = False

    def __init__(self, what: str, name: str = "") -> None:
        if what == "refuse":
            raise ValueError("no such thing")
        self.what = what
        self.name = name

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return f"{__name__}.Told", {"what": self.what, "name": self.name}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        SEEN.append(f"{self.name} runs")
        self.log.info("I am %s", self.name)
        match self.what:
            case "wait":
                await asyncio.Event().wait()
            case "raise":
                raise RuntimeError("boom")
            case "skip":
                yield TaskSkippedEvent(reason="nothing there")
            case "twice":
                yield TriggerEvent(1)
                yield TriggerEvent(2)
            case "no event":
                yield "a text"  # type: ignore[misc]
            case "object":
                yield TriggerEvent(object())
            case "flaky":
                for number in range(3):
                    yield TriggerEvent(number)
                    SEEN.append(f"{number} recorded")
                raise ConnectionError("the broker restarts")

    async def cleanup(self) -> None:
        SEEN.append(f"{self.name} cleaned up")

    async def on_cancel(self) -> None:
        SEEN.append(f"{self.name} cancelled")


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    SEEN.clear()


def row(number: int, what: str = "wait", **changes: Any) -> dict[str, Any]:
    kwargs = json.dumps({"what": what, "name": str(number)})
    plain = {"id": number, "classpath": f"{__name__}.Told", "kwargs": kwargs, "weight": 1, "version_id": None}
    return plain | {"cancelled_for": None, "is_watcher": False, "problem": None} | changes


class Ran:
    """What a runner reported."""

    def __init__(self) -> None:
        self.messages: list[Mapping[str, Any]] = []

    def of(self, kind: str) -> list[Any]:
        return [one for message in self.messages for one in message[kind]]


def run(act: Callable[[Runner, Ran], Any]) -> Ran:
    ran = Ran()

    async def main() -> None:
        runner = Runner(asyncio.get_running_loop(), "/nowhere", ran.messages.append)
        await act(runner, ran)
        await runner.end()

    asyncio.run(main())
    return ran


@pytest.mark.parametrize(
    ("what", "kind", "told"),
    [
        ("twice", "event", {"payload": "1"}),
        ("skip", "end", {"outcome": "skipped", "reason": "nothing there"}),
        ("raise", "failed", {"error": "RuntimeError: boom"}),
        ("nothing", "failed", {"error": "RuntimeError: the trigger ended without an event"}),
        ("refuse", "failed", {"error": "ValueError: no such thing"}),
        ("no event", "failed", {"error": "TypeError: the trigger yielded 'a text'; expected a TriggerEvent"}),
        ("object", "failed", {}),
    ],
)
def test_a_trigger_is_reported_once_whatever_it_does(what: str, kind: str, told: dict[str, Any]) -> None:
    async def act(runner: Runner, ran: Ran) -> None:
        await runner.take([row(1, what), row(2)], {})
        await until(lambda: ran.of("events"))
        await until(lambda: runner.held == 1)  # the other one goes on

    (event,) = run(act).of("events")
    assert (event["id"], event["kind"]) == (1, kind)
    assert told.items() <= event.items()


def test_what_a_failing_trigger_tells_holds_no_secret() -> None:
    async def act(runner: Runner, ran: Ran) -> None:
        await runner.take([row(1, "raise")], {})
        await until(lambda: ran.of("events"))

    MASKER.add("boom")
    try:
        (event,) = run(act).of("events")
    finally:
        MASKER.clear()
    assert event["error"] == "RuntimeError: ***"
    assert "RuntimeError: boom" not in event["traceback"]


def test_the_reason_of_an_end_holds_no_secret() -> None:
    MASKER.add("nothing there")
    try:
        assert one.event_of(1, TaskSkippedEvent(reason="it says: nothing there"))["reason"] == "it says: ***"
    finally:
        MASKER.clear()


def test_a_failing_watcher_tells_its_trouble_without_a_secret() -> None:
    async def act(runner: Runner, ran: Ran) -> None:
        await runner.take([row(1, "raise", is_watcher=True)], {})
        await until(lambda: ran.of("events"))

    MASKER.add("boom")
    try:
        (event,) = run(act).of("events")
    finally:
        MASKER.clear()
    assert (event["kind"], event["error"]) == ("trouble", "RuntimeError: ***")


def test_what_cannot_be_imported_fails_alone() -> None:
    """Case D8."""

    async def act(runner: Runner, ran: Ran) -> None:
        await runner.take([row(1, classpath="no_such_module.T"), row(2, classpath=f"{__name__}.Nobody"), row(3)], {})
        await until(lambda: len(ran.of("events")) == 2)
        await until(lambda: runner.held == 1)

    errors = {event["id"]: event["error"] for event in run(act).of("events")}
    assert "no_such_module" in errors[1]
    assert "has no class 'Nobody'" in errors[2]


def test_a_cancelled_trigger_is_told_so_and_a_put_down_one_is_not() -> None:
    """Case D7: cancel for a clear or a mark, never for a triggerer that stops or a trigger that moves."""

    async def act(runner: Runner, ran: Ran) -> None:
        await runner.take([row(1), row(2), row(3), row(4)], {})
        await until(lambda: len(SEEN) == 4)
        runner.cancel(1, "cleared")
        runner.drop([2])
        runner.give_back(1)
        await until(lambda: ran.of("cancelled") and ran.of("given_back"))

    ran = run(act)
    assert ran.of("events") == []
    assert (ran.of("cancelled"), ran.of("given_back")) == ([1], [4])
    assert [one for one in SEEN if "cancelled" in one] == ["1 cancelled"]
    assert SEEN.index("1 cancelled") < SEEN.index("1 cleaned up")
    assert {f"{number} cleaned up" for number in (1, 2, 3, 4)} <= set(SEEN)


def test_one_that_comes_cancelled_never_runs() -> None:
    async def act(runner: Runner, ran: Ran) -> None:
        await runner.take([row(1, cancelled_for="failed")], {})
        await until(lambda: ran.of("cancelled"))

    run(act)
    assert SEEN == ["1 cancelled", "1 cleaned up"]


def test_a_trigger_may_leave_its_job_on_when_the_task_is_marked_as_succeeded() -> None:
    """Case D7, iii."""

    async def act(runner: Runner, ran: Ran) -> None:
        await runner.take([row(1)], {})
        runner.cancel(1, "success")
        await until(lambda: ran.of("cancelled"))

    run(act)
    assert "1 cancelled" not in SEEN


def test_what_the_server_counts_otherwise_is_dropped_or_given_back() -> None:
    async def act(runner: Runner, ran: Ran) -> None:
        await runner.take([row(1), row(2)], {})
        runner.compare([2, 3])
        await until(lambda: ran.of("given_back"))
        await until(lambda: runner.held == 1)

    assert run(act).of("given_back") == [3]


def test_each_trigger_logs_for_its_own_task() -> None:

    async def act(runner: Runner, ran: Ran) -> None:
        logger = logging.getLogger("treadle.triggers")
        logger.addHandler(runner.lines)
        logger.setLevel(logging.INFO)
        try:
            await runner.take([row(1), row(2)], {})
            await until(lambda: len(ran.of("logs")) == 2)
        finally:
            logger.removeHandler(runner.lines)

    texts = {one["id"]: json.loads(one["text"])["text"] for one in run(act).of("logs")}
    assert texts == {1: "I am 1", 2: "I am 2"}


def test_a_watcher_goes_on_once_its_event_is_recorded_and_begins_anew_when_it_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Case A56: messages before and after a broker's restart all come; the failure is told of."""
    monkeypatch.setattr(one, "_LONGEST_PAUSE", 0.0)

    async def act(runner: Runner, ran: Ran) -> None:
        def events() -> list[Any]:
            return [event for event in ran.of("events") if event["kind"] == "event"]

        await runner.take([row(1, "flaky", is_watcher=True)], {})
        for number in range(18):
            await until(lambda number=number: len(events()) == number + 1)  # type: ignore[misc]
            assert len([line for line in SEEN if line.endswith("recorded")]) == number
            runner.recorded([events()[-1]["number"]])
        await until(lambda: len([event for event in ran.of("events") if event["kind"] == "trouble"]) == 6)

    ran = run(act)
    told = [event["error"] for event in ran.of("events") if event["kind"] == "trouble"]
    assert told == ["ConnectionError: the broker restarts"] * 6
    assert SEEN.count("1 cleaned up") >= 6
