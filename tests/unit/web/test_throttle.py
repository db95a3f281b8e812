"""Slowing down logins, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from treadle_webserver.throttle import AT_ONCE, FAILURES, FAILURES_OF_ADDRESS, WINDOW, Throttle

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def test_a_name_waits_after_its_failures_and_other_names_do_not() -> None:
    throttle = Throttle()
    for second in range(FAILURES):
        assert throttle.wait_seconds("ip", "ann", now=NOW) == 0
        throttle.failed("ip", "ann", now=NOW + timedelta(seconds=second))
    assert throttle.wait_seconds("ip", "ann", now=NOW + timedelta(seconds=10)) == WINDOW.total_seconds() - 10
    assert throttle.wait_seconds("ip", "bob", now=NOW) == 0
    assert throttle.wait_seconds("other", "ann", now=NOW) == 0
    assert throttle.wait_seconds("ip", "ann", now=NOW + WINDOW) == 0


def test_an_address_waits_after_failures_of_many_names() -> None:
    throttle = Throttle()
    for number in range(FAILURES_OF_ADDRESS):
        throttle.failed("ip", f"name{number}", now=NOW)
    assert throttle.wait_seconds("ip", "someone else", now=NOW) > 0


def test_a_success_forgets_the_failures() -> None:
    throttle = Throttle()
    for _ in range(FAILURES):
        throttle.failed("ip", "ann", now=NOW)
    throttle.succeeded("ip", "ann")
    assert throttle.wait_seconds("ip", "ann", now=NOW) == 0


def test_what_is_remembered_is_bounded() -> None:
    throttle = Throttle()
    for number in range(10_100):
        throttle.failed(str(number), "ann", now=NOW)
    assert len(throttle._failures) == 10_000


def test_only_some_logins_are_under_way_at_once() -> None:
    throttle = Throttle()
    places = [throttle.place() for _ in range(AT_ONCE + 1)]
    assert [place.__enter__() for place in places] == [True] * AT_ONCE + [False]
    for place in places:
        place.__exit__(None, None, None)
    with throttle.place() as held:
        assert held
