"""Slowing down logins, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from treadle_metadata.failed_logins import FAILURES, FAILURES_OF_ADDRESS, WINDOW, wait_of
from treadle_webserver.throttle import AT_ONCE, Throttle

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def ago(number: int, *, each: float = 1) -> list[datetime]:
    """The newest failures, one each so many seconds, the last of them now."""
    return [NOW - timedelta(seconds=each * back) for back in range(number)]


def test_a_name_waits_after_its_failures_until_the_oldest_of_them_is_a_window_away() -> None:
    few, enough = ago(FAILURES - 1), ago(FAILURES)
    assert wait_of(few, few, now=NOW) == 0
    assert wait_of(enough, enough, now=NOW) == WINDOW.total_seconds() - (FAILURES - 1)
    assert wait_of(ago(FAILURES + 3), [], now=NOW) == WINDOW.total_seconds() - (FAILURES - 1)
    assert wait_of(enough, enough, now=NOW + WINDOW) == 0
    assert wait_of(ago(FAILURES, each=14.9), [], now=NOW) == 1


def test_an_address_waits_after_failures_of_many_names() -> None:
    assert wait_of([], ago(FAILURES_OF_ADDRESS - 1, each=0.1), now=NOW) == 0
    assert wait_of([], ago(FAILURES_OF_ADDRESS, each=0.1), now=NOW) > 0


def test_only_some_logins_are_under_way_at_once() -> None:
    throttle = Throttle()
    places = [throttle.place() for _ in range(AT_ONCE + 1)]
    assert [place.__enter__() for place in places] == [True] * AT_ONCE + [False]
    for place in places:
        place.__exit__(None, None, None)
    with throttle.place() as held:
        assert held
