"""The pace of the loop: when a beat is followed by a rest (decision 24)."""

from __future__ import annotations

import pytest

from treadle_scheduler import waking
from treadle_scheduler.waking import LONGEST_REST, MANY, Pace


class Clock:
    """Stands in for the module ``time``: sleeping moves it on."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def rest_after(monkeypatch: pytest.MonkeyPatch, *, cost: float, handed: int, under_way: int) -> float:
    clock = Clock()
    monkeypatch.setattr(waking, "time", clock)
    pace = Pace()
    pace.begin()
    clock.now += cost
    pace.end(handed, under_way)
    before = clock.now
    pace.rest()
    return clock.now - before


def test_a_beat_that_handed_over_little_of_much_is_followed_by_a_rest_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rest_after(monkeypatch, cost=0.007, handed=1, under_way=32) == pytest.approx(0.007)
    assert rest_after(monkeypatch, cost=0.007, handed=0, under_way=1) == pytest.approx(0.007)
    assert rest_after(monkeypatch, cost=3.0, handed=1, under_way=32) == pytest.approx(LONGEST_REST)


def test_nothing_waits_where_no_report_could_gather(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rest_after(monkeypatch, cost=0.007, handed=1, under_way=1) == 0
    assert rest_after(monkeypatch, cost=0.007, handed=0, under_way=0) == 0


def test_a_beat_that_handed_over_much_is_worth_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rest_after(monkeypatch, cost=0.007, handed=MANY, under_way=32) == 0
