"""How long a parse zygote that cannot start is left alone."""

from __future__ import annotations

from treadle_scheduler.parsing.zygote_process import wait_before


def test_a_zygote_that_had_worked_is_replaced_at_once_and_others_after_waits_that_double_up_to_half_a_minute() -> None:
    assert [wait_before(failures) for failures in range(9)] == [0, 0.5, 1, 2, 4, 8, 16, 30, 30]
    assert wait_before(10_000) == 30
