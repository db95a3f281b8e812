"""How much of what there is each triggerer takes and gives back: pure arithmetic, played through to its rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle_metadata.triggerers import SLACK, UNEVEN, shares


def settled(capacities: list[int], held: list[int], free: int) -> tuple[list[int], int]:
    """Let triggerers take and give back in turns until nothing moves; return what each holds, and what is free."""
    held = list(held)
    for _ in range(400):
        before = (list(held), free)
        for one, capacity in enumerate(capacities):
            peers = [(capacities[other], held[other]) for other in range(len(held)) if other != one]
            room, excess = shares(capacity, held[one], peers)
            assert room == 0 or excess == 0 or room + excess <= capacity
            back = min(excess, held[one])
            held[one] -= back
            free += back
            taken = min(room, free)
            held[one] += taken
            free -= taken
        if (held, free) == before:
            break
    return held, free


@given(
    st.lists(st.integers(1, 50_000), min_size=1, max_size=5).flatmap(
        lambda capacities: st.tuples(
            st.just(capacities), st.tuples(*(st.integers(0, one) for one in capacities)), st.integers(0, 30_000)
        )
    )
)
def test_nothing_is_left_free_as_long_as_there_is_room(case: tuple[list[int], tuple[int, ...], int]) -> None:
    capacities, held, free = case
    after, left = settled(capacities, list(held), free)
    assert left == 0 or sum(after) >= sum(capacities) - 1
    assert all(one <= capacity for one, capacity in zip(after, capacities, strict=True))


def test_one_that_joins_gets_its_share() -> None:
    after, left = settled([1000, 1000], [900, 0], 0)
    assert left == 0
    assert min(after) >= 340


def test_what_a_dead_one_had_goes_to_the_others_evenly() -> None:
    after, left = settled([10_000, 10_000], [1000, 1000], 1000)
    assert (left, sum(after)) == (0, 3000)
    assert max(after) <= 1500 * UNEVEN + SLACK
