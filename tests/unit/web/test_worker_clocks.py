"""Times of workers on the server's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_webserver.worker_clocks import correct, difference

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ahead", "moved"), [(0, 0), (4, 0), (-4, 0), (-301, 300), (299, -300), (298, -300), (86_400, -86_400)]
)
def test_only_whole_steps_are_taken_off(ahead: int, moved: int) -> None:
    assert difference(NOW + timedelta(seconds=ahead), NOW) == timedelta(seconds=moved)


def test_a_worker_that_does_not_say_its_time_is_believed() -> None:
    assert difference(None, NOW) == timedelta(0)


@given(st.integers(-40_000_000, 40_000_000), st.integers(0, 30_000_000), st.integers(0, 6_000_000))
def test_a_start_that_is_sent_again_has_the_same_part_of_a_second(ahead: int, later: int, slow: int) -> None:
    """Whatever the skew (near 5, 15, 25 s it falls on either side of a step), however long it took to come again."""
    started = NOW + timedelta(microseconds=ahead)
    found = []
    for passed, waited in ((0, 0), (later, slow)):
        report: dict[str, Any] = {"started_at": started.isoformat()}
        now = NOW + timedelta(microseconds=passed + waited)
        correct([report], difference(started + timedelta(microseconds=passed), now), now=now)
        assert report["started_at"] <= now
        found.append(report["started_at"])
    assert (found[1] - found[0]) % timedelta(seconds=1) == timedelta(0)


def test_no_time_lies_ahead_and_nothing_ends_before_it_starts() -> None:
    report = {"started_at": "2026-01-15T12:00:07+00:00", "ended_at": "2026-01-15T11:59:58Z", "outcome": "success"}
    correct([report], timedelta(0), now=NOW)
    assert (report["started_at"], report["ended_at"]) == (NOW - timedelta(seconds=2),) * 2


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="ended_at is '2026-01-15T12:00:00'"):
        correct([{"ended_at": "2026-01-15T12:00:00"}], timedelta(0), now=NOW)
