"""The protocol keeps its promises in every state that can be reached, and each of its safeguards is needed for that."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.protocol.explorer import explore
from tests.unit.protocol.protocol_model import Bounds, Rules

BOUNDS = Bounds(attempts=2, retries=1, faults=1)
SMALL = Bounds(attempts=1, retries=0, faults=1)

TOGETHER = "never two attempts at work at the same time"
ENDS = "every instance ends"

NEEDED_FOR = {
    "fenced": "a fenced attempt changes nothing",
    "guarded": TOGETHER,
    "hosts_end_expired": TOGETHER,
    "hosts_refuse_late_answers": TOGETHER,
    "hosts_take_once": TOGETHER,
    "leases_count_from_sending": TOGETHER,
    "lost_are_charged": ENDS,
}


def test_all_promises_hold_in_every_state() -> None:
    explored = explore(Rules(), BOUNDS)
    assert explored.found is None
    assert explored.states > 50_000


@pytest.mark.parametrize(("safeguard", "promise"), NEEDED_FOR.items())
def test_without_a_safeguard_a_promise_is_broken(safeguard: str, promise: str) -> None:
    found = explore(replace(Rules(), **{safeguard: False}), SMALL if promise == ENDS else BOUNDS).found
    assert found is not None
    assert found.promise == promise, found.way


def test_every_safeguard_is_tried() -> None:
    assert set(NEEDED_FOR) == set(Rules.__dataclass_fields__)
