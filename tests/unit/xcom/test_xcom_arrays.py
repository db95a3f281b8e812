"""numpy, pandas and Arrow values come back equal, where these libraries are installed (case G9)."""

from __future__ import annotations

import importlib.util
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from treadle import xcom
from treadle.errors import LibraryMissingError, XComTypeError


def back(value: Any) -> Any:
    text, _ = xcom.dumps(value)
    json.dumps(xcom.to_plain(text))
    return xcom.loads(text)


def test_numpy_scalars_and_arrays_come_back_with_their_types() -> None:
    np = pytest.importorskip("numpy")
    scalars = [np.int64(2**62), np.float32(0.1), np.bool_(True), np.uint8(3), np.datetime64("2024-01-01T00:00:00.5")]
    for value in scalars:
        result = back({"v": value})["v"]
        assert result == value
        assert type(result) is type(value)
    assert np.isnan(back(np.float64("nan")))
    assert back([np.str_("a"), np.bytes_(b"b")]) == ["a", b"b"]
    arrays = [np.arange(6).reshape(2, 3), np.array([], dtype="float32"), np.array([1.5, np.nan]), np.array(["a", "bc"])]
    for array in [*arrays, np.arange(6).reshape(2, 3).T, np.array(["2024-01-01"], dtype="M8[D]")]:
        result = back(array)
        np.testing.assert_array_equal(result, array)
        assert result.dtype == array.dtype
    result = back(np.zeros(2))
    result[0] = 1


def test_numpy_values_without_a_form_are_refused() -> None:
    np = pytest.importorskip("numpy")
    for value in (np.array([object()]), np.complex128(1j), np.array([1j]), np.longdouble(1)):
        with pytest.raises(XComTypeError, match=r"\$\[0\] a numpy"):
            xcom.dumps([value])


def test_a_data_frame_with_missing_values_zones_and_mixed_types_comes_back() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "number": [1, 2, 3],
            "float": [1.5, None, float("nan")],
            "text": ["a", None, "c"],
            "when": pd.to_datetime(["2024-01-01", None, "2024-07-01"]).tz_localize("Europe/Vienna"),
            "naive": pd.to_datetime(["2024-01-01", None, "2024-07-01"]),
            "price": [Decimal("1.10"), None, Decimal("2")],
            "kind": pd.Categorical(["x", None, "y"], ordered=True),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
        },
        index=pd.Index(["r1", "r2", "r3"], name="row"),
    )
    pd.testing.assert_frame_equal(back({"frame": frame})["frame"], frame)
    pd.testing.assert_frame_equal(back(frame.iloc[:0]), frame.iloc[:0])
    pd.testing.assert_series_equal(back(frame["when"]), frame["when"])
    indexed = frame.set_index(["number", "flag"])
    pd.testing.assert_frame_equal(back(indexed), indexed)
    assert back(pd.NaT) is pd.NaT
    assert back(pd.NA) is pd.NA
    assert back(pd.Timestamp("2024-01-01 00:00:00.000000001", tz="UTC")).nanosecond == 1


def test_a_data_frame_that_cannot_come_back_is_refused_at_push() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(XComTypeError):
        xcom.dumps(pd.DataFrame({"x": [object()]}))


def test_an_arrow_table_comes_back() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1, None], "when": [datetime(2024, 1, 1, tzinfo=UTC), None]})
    assert back(table).equals(table)


@pytest.mark.skipif(importlib.util.find_spec("pandas") is not None, reason="pandas is installed here")
def test_a_worker_without_the_library_says_what_to_install() -> None:
    with pytest.raises(LibraryMissingError, match="install pandas"):
        xcom.loads('{"$type":"pandas.NaT","$value":null}')
