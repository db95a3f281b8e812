"""XComs of numpy, pandas and Arrow: scalars, arrays, Series, DataFrames, tables.

:mod:`treadle.xcom` loads this module only when it meets a value (or a stored form) of these libraries, which are then
installed; the SDK does not depend on them. The forms are our own (base64 of raw numbers, lists of typed elements,
Arrow's IPC stream), not a library's pickle, so that an upgrade does not change what is stored. Every array form is
read back and compared at push: what would not come back equal is refused there, never at pull (case G9).
"""

from __future__ import annotations

import base64
import importlib
import io
import sys
from typing import Any, Final

from treadle import xcom
from treadle.errors import LibraryMissingError
from treadle.xcom_reading import TYPE, VALUE
from treadle.xcom_reading import decode as from_plain

_NUMBER_KINDS: Final = "biuf"
_MOMENT_KINDS: Final = "mM"


def encode(value: Any, depth: int) -> Any:
    """Return the JSON form of a value of one of the libraries; refuses what cannot come back equal."""
    library = type(value).__module__.partition(".")[0]
    return {"numpy": _encode_numpy, "pandas": _encode_pandas, "pyarrow": _encode_arrow}[library](value, depth)


def decode(plain: dict[str, Any]) -> Any:
    """Return the value of a form that :func:`encode` wrote.

    Raises:
        LibraryMissingError: the library is not installed here.
    """
    library = plain[TYPE].partition(".")[0]
    reader = _READERS.get(plain[TYPE])
    if reader is None:
        return plain
    try:
        return reader(importlib.import_module(library), plain)
    except ModuleNotFoundError:
        raise LibraryMissingError(library, plain[TYPE]) from None


# --- numpy ---------------------------------------------------------------------------------------------------------


def _encode_numpy(value: Any, depth: int) -> Any:
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.ndarray):
        return _encode_array(numpy, value)
    if isinstance(value, (str, bytes)):  # numpy.str_ and numpy.bytes_
        return xcom.encode(value.item(), depth + 1)  # type: ignore[union-attr]
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in _NUMBER_KINDS and kind and value.dtype.itemsize <= 8:
        return xcom.typed("numpy.scalar", xcom.encode(value.item(), depth + 1), dtype=value.dtype.str)
    if kind and kind in _MOMENT_KINDS:
        number = int(value.astype("int64"))
        return xcom.typed("numpy.scalar", number, dtype=value.dtype.str, summary=str(value))
    raise xcom.refuse(f"a numpy {type(value).__name__} has no typed JSON form; return .item() or .tolist() of it")


def _encode_array(numpy: Any, value: Any) -> Any:
    if type(value) is not numpy.ndarray or value.dtype.kind not in _NUMBER_KINDS + _MOMENT_KINDS + "SU":
        raise xcom.refuse(
            f"a numpy {type(value).__name__} of {value.dtype} has no typed JSON form; return .tolist() of it"
        )
    data = base64.b64encode(numpy.ascontiguousarray(value).tobytes()).decode()
    return xcom.typed(
        "numpy.array",
        data,
        dtype=value.dtype.str,
        shape=list(value.shape),
        summary=f"numpy array of {value.dtype}, shape {value.shape}",
    )


def _decode_scalar(numpy: Any, plain: dict[str, Any]) -> Any:
    dtype = numpy.dtype(plain["dtype"])
    if dtype.kind in _MOMENT_KINDS:
        return numpy.int64(plain[VALUE]).astype(dtype)
    return dtype.type(from_plain(plain[VALUE]))


def _decode_array(numpy: Any, plain: dict[str, Any]) -> Any:
    flat = numpy.frombuffer(base64.b64decode(plain[VALUE]), dtype=numpy.dtype(plain["dtype"]))
    return flat.reshape(plain["shape"]).copy()  # a copy can be written to, a buffer cannot


# --- pandas --------------------------------------------------------------------------------------------------------


def _encode_pandas(value: Any, depth: int) -> Any:
    pandas = sys.modules["pandas"]
    if value is pandas.NaT:
        return xcom.typed("pandas.NaT", None)
    if value is pandas.NA:
        return xcom.typed("pandas.NA", None)
    if isinstance(value, pandas.Timestamp):
        zone = str(value.tz) if value.tz is not None else None
        return xcom.typed("pandas.Timestamp", int(value.value), zone=zone, unit=value.unit, summary=str(value))
    if isinstance(value, pandas.Timedelta):
        return xcom.typed("pandas.Timedelta", int(value.value), summary=str(value))
    if isinstance(value, pandas.Series):
        form = {"index": _index_form(pandas, value.index, depth), "name": xcom.encode(value.name, depth + 1)}
        plain = xcom.typed(
            "pandas.Series", {**form, "values": _column_form(pandas, value, depth)}, summary=f"Series of {len(value)}"
        )
        return _proven(pandas, value, plain)
    if isinstance(value, pandas.DataFrame):
        return _proven(pandas, value, _frame_form(pandas, value, depth))
    raise xcom.refuse(f"a pandas {type(value).__name__} has no typed JSON form; return a Series, DataFrame or list")


def _frame_form(pandas: Any, frame: Any, depth: int) -> Any:
    columns = [_column_form(pandas, frame.iloc[:, number], depth) for number in range(frame.shape[1])]
    form = {
        "index": _index_form(pandas, frame.index, depth),
        "labels": _index_form(pandas, frame.columns, depth),
        "columns": columns,
    }
    summary = f"DataFrame of {frame.shape[0]} rows and columns {', '.join(map(str, frame.columns[:20]))}"
    return xcom.typed("pandas.DataFrame", form, summary=summary)


def _proven(pandas: Any, value: Any, plain: Any) -> Any:
    try:
        back = from_plain(plain)
        if isinstance(value, pandas.Series):
            pandas.testing.assert_series_equal(back, value, check_freq=False, check_exact=True)
        else:
            pandas.testing.assert_frame_equal(back, value, check_freq=False, check_exact=True)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise xcom.refuse(
            f"a pandas {type(value).__name__} would not come back equal ({reason}); return the path of a file with it"
        ) from None
    return plain


def _column_form(pandas: Any, series: Any, depth: int) -> Any:
    dtype = series.dtype
    if getattr(dtype, "kind", "O") in _NUMBER_KINDS + _MOMENT_KINDS and hasattr(dtype, "itemsize"):
        if isinstance(dtype, pandas.DatetimeTZDtype):
            moments = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
            return {"zone": str(dtype.tz), "array": _encode_numpy(moments, depth)}
        if type(series.array).__name__ in ("NumpyExtensionArray", "PandasArray", "DatetimeArray", "TimedeltaArray"):
            return {"array": _encode_numpy(series.to_numpy(), depth)}
    if isinstance(dtype, pandas.CategoricalDtype):
        return {
            "codes": [int(code) for code in series.cat.codes],
            "categories": _index_form(pandas, series.cat.categories, depth),
            "ordered": bool(series.cat.ordered),
        }
    items = []
    for number, item in enumerate(series.tolist()):
        with xcom.within(f"[{number}]"):
            items.append(None if item is pandas.NA and str(dtype) != "object" else xcom.encode(item, depth + 1))
    return {"dtype": str(dtype), "items": items}


def _index_form(pandas: Any, index: Any, depth: int) -> Any:
    if isinstance(index, pandas.RangeIndex):
        return {"range": [index.start, index.stop, index.step], "name": xcom.encode(index.name, depth + 1)}
    if isinstance(index, pandas.MultiIndex):
        levels = [_column_form(pandas, index.get_level_values(n).to_series(), depth) for n in range(index.nlevels)]
        return {"levels": levels, "names": [xcom.encode(name, depth + 1) for name in index.names]}
    return {
        "values": _column_form(pandas, index.to_series(), depth),
        "name": xcom.encode(index.name, depth + 1),
    }


def _decode_series(pandas: Any, plain: dict[str, Any]) -> Any:
    form = plain[VALUE]
    series = pandas.Series(_column(pandas, form["values"]), name=from_plain(form["name"]))
    series.index = _index(pandas, form["index"])
    return series


def _decode_frame(pandas: Any, plain: dict[str, Any]) -> Any:
    form = plain[VALUE]
    index = _index(pandas, form["index"])
    frame = pandas.DataFrame(
        {number: _column(pandas, one).array for number, one in enumerate(form["columns"])}, index=index
    )
    frame.columns = _index(pandas, form["labels"])
    return frame


def _column(pandas: Any, form: dict[str, Any]) -> Any:
    if "array" in form:
        series = pandas.Series(from_plain(form["array"]))
        return series.dt.tz_localize("UTC").dt.tz_convert(form["zone"]) if "zone" in form else series
    if "codes" in form:
        categories = _index(pandas, form["categories"])
        return pandas.Series(pandas.Categorical.from_codes(form["codes"], categories, ordered=form["ordered"]))
    return pandas.Series([from_plain(item) for item in form["items"]], dtype=form["dtype"])


def _index(pandas: Any, form: dict[str, Any]) -> Any:
    if "range" in form:
        return pandas.RangeIndex(*form["range"], name=from_plain(form["name"]))
    if "levels" in form:
        levels = [_column(pandas, one) for one in form["levels"]]
        return pandas.MultiIndex.from_arrays(levels, names=[from_plain(name) for name in form["names"]])
    return pandas.Index(_column(pandas, form["values"]), name=from_plain(form["name"]))


def _decode_timestamp(pandas: Any, plain: dict[str, Any]) -> Any:
    moment = pandas.Timestamp(plain[VALUE], unit="ns").as_unit(plain["unit"])
    return moment if plain["zone"] is None else moment.tz_localize("UTC").tz_convert(plain["zone"])


# --- Arrow ---------------------------------------------------------------------------------------------------------


def _encode_arrow(value: Any, _: int) -> Any:
    arrow = sys.modules["pyarrow"]
    if isinstance(value, arrow.RecordBatch):
        value = arrow.Table.from_batches([value])
    if not isinstance(value, arrow.Table):
        raise xcom.refuse(f"an Arrow {type(value).__name__} has no typed JSON form; return a Table")
    sink = io.BytesIO()
    with arrow.ipc.new_stream(sink, value.schema) as writer:
        writer.write_table(value)
    summary = f"Arrow table of {value.num_rows} rows and columns {', '.join(value.column_names[:20])}"
    return xcom.typed("pyarrow.Table", base64.b64encode(sink.getvalue()).decode(), summary=summary)


def _decode_table(arrow: Any, plain: dict[str, Any]) -> Any:
    return arrow.ipc.open_stream(base64.b64decode(plain[VALUE])).read_all()


_READERS: Final = {
    "numpy.scalar": _decode_scalar,
    "numpy.array": _decode_array,
    "pandas.NaT": lambda pandas, _: pandas.NaT,
    "pandas.NA": lambda pandas, _: pandas.NA,
    "pandas.Timestamp": _decode_timestamp,
    "pandas.Timedelta": lambda pandas, plain: pandas.Timedelta(plain[VALUE], unit="ns"),
    "pandas.Series": _decode_series,
    "pandas.DataFrame": _decode_frame,
    "pyarrow.Table": _decode_table,
}
