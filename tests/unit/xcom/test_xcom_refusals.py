"""What cannot come back is refused at push, and the message names the bad element (cases G8, G9)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from treadle import xcom
from treadle.errors import XComTooLargeError, XComTypeError


class Strange:
    pass


def test_the_path_of_the_bad_element_is_named() -> None:
    rows = [{"when": 1}, {"when": 2}, {"when": 3}, {"when": (n for n in "")}]
    with pytest.raises(XComTypeError, match=r"\$\.rows\[3\]\.when a generator can be read only once") as caught:
        xcom.dumps({"rows": rows}, key="table")
    assert caught.value.path == "$.rows[3].when"
    assert "'table'" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ({"a b": Strange()}, "$['a b']", "Strange"),
        ({1: [Strange()]}, "$[1][0]", "Strange"),
        ({(1, Strange): 2}, None, "type is code"),
        ([{"x": lambda: 1}], "$[0].x", "is code, not data"),
        (iter([1]), "$", "can be read only once"),
        (range(3), "$", "return list(...) of it"),
        ({"lock": threading.Lock()}, "$.lock", "lock"),
        ([ValueError("x")], "$[0]", "a ValueError has no typed JSON form"),
        ({"k": {1, 2}.__iter__()}, "$.k", "can be read only once"),
    ],
)
def test_values_without_a_form_are_refused(value: Any, path: str | None, words: str) -> None:
    with pytest.raises(XComTypeError) as caught:
        xcom.dumps(value)
    assert words in str(caught.value)
    assert path in (None, caught.value.path)


def test_a_container_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(XComTypeError, match="contains itself"):
        xcom.dumps(loop)


def test_deep_nesting_that_is_accepted_also_comes_back() -> None:
    value: Any = 1
    for _ in range(xcom.MAX_DEPTH):
        value = {(1,): (value,)} if _ % 2 else [value]
        try:
            text, _length = xcom.dumps(value)
        except XComTypeError:
            break
        assert xcom.loads(text) == value
    else:
        pytest.fail("no depth was refused")


@pytest.mark.parametrize("size", [60_000, 70_000, 1_000_000])
def test_a_value_within_the_limit_comes_back(size: int) -> None:
    text, _ = xcom.dumps("x" * size, max_bytes=1_000_100)
    assert xcom.loads(text) == "x" * size


def test_a_value_above_the_limit_is_refused_with_size_limit_and_key() -> None:
    with pytest.raises(XComTooLargeError) as caught:
        xcom.dumps("x" * 2_000, key="blob", max_bytes=1_000)
    assert (caught.value.size, caught.value.limit, caught.value.key) == (2_002, 1_000, "blob")
    assert "2,002" in str(caught.value)
    assert "1,000" in str(caught.value)


def test_the_size_is_counted_in_bytes_not_characters() -> None:
    with pytest.raises(XComTooLargeError):
        xcom.dumps("\u4e16" * 400, max_bytes=1_000)
