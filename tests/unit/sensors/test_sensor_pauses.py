"""How long a sensor pauses, against an obvious oracle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.sensors.pauses import Pauses

spans = st.floats(0.001, 1e6, allow_nan=False)


@given(spans, spans, st.booleans(), st.none() | spans, st.integers(1, 2000), st.floats(0, 2e6))
def test_a_pause_is_never_past_the_timeout_nor_longer_than_max_wait(
    interval: float, timeout: float, doubles: bool, most: float | None, pokes: int, waited: float
) -> None:
    pause = Pauses(interval, timeout, doubles, most).next(pokes, waited, "a")
    if waited >= timeout:
        assert pause is None
        return
    assert pause is not None
    assert 0 < pause <= timeout - waited
    if not doubles:
        assert pause == min(interval, timeout - waited)
    elif most is not None:
        assert pause <= most


def test_back_off_doubles_from_poke_to_poke_and_spreads_sensors_that_began_together() -> None:
    pauses = Pauses(poke_interval=10, timeout=1e9, exponential_backoff=True, max_wait=300)
    found = [pauses.next(poke, 0, "a") for poke in range(1, 8)]
    assert all(10 * 2**n <= one <= 10 * 2**n * 1.1 for n, one in enumerate(found[:5]) if one)
    assert found[5:] == [300, 300]
    assert found == [pauses.next(poke, 0, "a") for poke in range(1, 8)]
    assert len({pauses.next(1, 0, str(number)) for number in range(20)}) == 20
