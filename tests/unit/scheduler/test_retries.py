"""Retry delays: constant or growing, capped, with a jitter that is the same each time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.document import TaskDocument
from treadle_scheduler.retries import MOST_SECONDS, retry_delay


def test_a_plain_delay_stays_as_it_is() -> None:
    task = TaskDocument("t", retry_delay_seconds=7.5)
    assert [retry_delay(task, key="k", try_number=n) for n in (1, 2, 9)] == [7.5] * 3


@given(st.floats(0, 1e5), st.floats(1.01, 10), st.integers(1, 500))
def test_a_growing_delay_lies_between_its_power_and_its_double_and_never_over_a_day(
    delay: float, growth: float, try_number: int
) -> None:
    task = TaskDocument("t", retry_delay_seconds=delay, retry_exponential_backoff=growth)
    found = retry_delay(task, key="k", try_number=try_number)
    assert found == retry_delay(task, key="k", try_number=try_number)
    least = min(MOST_SECONDS, max(1.0, delay * growth ** min(try_number - 1, 64)))
    assert least <= found <= min(MOST_SECONDS, 2 * (least + 1))


def test_the_cap_of_the_task_holds() -> None:
    task = TaskDocument("t", retry_delay_seconds=60, retry_exponential_backoff=2, max_retry_delay_seconds=100)
    assert retry_delay(task, key="k", try_number=5) == pytest.approx(100)


def test_two_instances_do_not_retry_in_step() -> None:
    task = TaskDocument("t", retry_delay_seconds=300, retry_exponential_backoff=2)
    assert len({retry_delay(task, key=f"k{n}", try_number=1) for n in range(50)}) > 30


def test_a_growth_that_no_float_can_hold_ends_at_the_longest_delay() -> None:
    task = TaskDocument("t", retry_delay_seconds=1.0, retry_exponential_backoff=1e300)
    assert retry_delay(task, key="k", try_number=3) == MOST_SECONDS
    assert retry_delay(task, key="k", try_number=1) >= 1


def test_a_delay_is_a_float_whatever_it_was_made_from() -> None:
    """The delays of one hand-over go into one array, and the database refuses one of whole and of real numbers."""
    for growth in (0.0, 2.0):
        task = TaskDocument("t", retry_delay_seconds=20, retry_exponential_backoff=growth, max_retry_delay_seconds=50)
        assert type(retry_delay(task, key="k", try_number=2)) is float
