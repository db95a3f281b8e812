"""Elements of stored values are those that the value has, and the cache of them keeps to its size."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle import xcom
from treadle_metadata.xcom_elements import ElementCache, Elements

LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text()
LEAVES |= st.sampled_from(["\0", "\\u0041", "\ud800", '"', '",:]}', datetime(2024, 1, 1, tzinfo=UTC), b"\0"])
KEYS = st.text(max_size=5) | st.integers(0, 9) | st.sampled_from(["$type", '":', "}"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(st.integers(), max_size=2)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_elements_are_those_of_the_value(value: Any) -> None:
    elements = Elements(xcom.dumps(value)[0])
    expected = list(value.items()) if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    texts = [elements.text(index) for index in range(len(expected))]
    assert [xcom.loads(text or "") for text in texts] == list(expected)
    assert elements.text(len(expected)) is None
    assert elements.text(-1) is None


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", "text", 5, None, [], {}, ()])
def test_what_has_no_elements_has_none(value: Any) -> None:
    assert Elements(xcom.dumps(value)[0]).text(0) is None


def test_the_cache_forgets_what_was_not_asked_for_longest() -> None:
    one = Elements("[1]")
    cache = ElementCache(most_bytes=2 * one.size)
    for version in ("a", "b"):
        cache.put(version, Elements("[1]"))
    assert cache.get("a") is not None
    cache.put("c", Elements("[1]"))
    assert [cache.get(version) is not None for version in "abc"] == [True, False, True]
    cache.put("big", Elements("[" + ",".join("1" * 1000) + "]"))
    assert [cache.get(version) is not None for version in ("a", "c", "big")] == [False, False, True]
