"""A child that hears the order to begin only after its attempt's lease does not begin (found by the chaos bench)."""

from __future__ import annotations

import time

from treadle_worker.child import too_late


def test_an_order_within_the_lease_is_followed() -> None:
    assert not too_late({"kind": "go", "begin_by": time.monotonic() + 60})


def test_an_order_that_arrives_after_the_lease_is_not_followed() -> None:
    assert too_late({"kind": "go", "begin_by": time.monotonic() - 0.001})


def test_an_order_of_a_host_that_knows_no_lease_is_followed() -> None:
    assert not too_late({"kind": "run", "go": True})
