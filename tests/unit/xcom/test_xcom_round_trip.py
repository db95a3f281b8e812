"""What is pushed comes back equal and of the same type."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from treadle import xcom

ZONES = [UTC, ZoneInfo("UTC"), ZoneInfo("Europe/Vienna"), ZoneInfo("America/New_York"), timezone(timedelta(hours=5.5))]


class Colour(Enum):
    RED = "red"
    BLUE = (0, 0, 255)


class Level(IntEnum):
    LOW = 1


class Word(StrEnum):
    YES = "yes"


@dataclass
class Row:
    when: datetime
    amounts: list[Decimal] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Frozen:
    name: str
    inner: Row | None = None


@dataclass
class Guarded:
    made: int
    calls: ClassVar[int] = 0

    def __post_init__(self) -> None:
        Guarded.calls += 1


class Point(NamedTuple):
    x: int
    y: int


class Order(BaseModel):
    number: int
    rows: dict[str, date]
    paid: Decimal | None = None


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.dates()
    | st.timedeltas()
    | st.datetimes(timezones=st.none() | st.sampled_from(ZONES))
    | st.times(timezones=st.none() | st.sampled_from(ZONES))
    | st.sampled_from([*Colour, *Level, *Word])
)
hashable = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
keys = st.sampled_from(["$type", "$value", "class", "summary"]) | hashable
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.sets(hashable, max_size=4)
        | st.dictionaries(keys, inner, max_size=4)
        | st.builds(Row, st.datetimes(), st.lists(st.decimals(allow_nan=False), max_size=2))
    ),
    max_leaves=20,
)


def kinds(value: Any) -> Any:
    """The types of a value at every depth, as equality hides True == 1 and (1,) is not [1] only at the top."""
    if isinstance(value, dict):
        return type(value), [(kinds(key), kinds(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [kinds(item) for item in value]
    return type(value)


@given(values)
def test_any_nesting_of_typed_values_comes_back_equal_and_of_the_same_types(value: Any) -> None:
    text, _ = xcom.dumps(value)
    back = xcom.loads(text)
    assert back == value
    assert kinds(back) == kinds(value)


@given(values)
def test_the_stored_text_is_utf8_json_that_names_no_nan(value: Any) -> None:
    text, _ = xcom.dumps(value)
    text.encode()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@given(values)
def test_servers_get_plain_json_to_show(value: Any) -> None:
    text, _ = xcom.dumps(value)
    shown = json.dumps(xcom.to_plain(text))
    assert '"$value"' not in shown or "$value" in repr(value)


@given(st.dictionaries(st.text() | st.just("$type"), st.text() | st.just("datetime")))
def test_a_dict_that_looks_like_our_marker_stays_a_dict(value: dict[str, str]) -> None:
    assert xcom.loads(xcom.dumps(value)[0]) == value


def test_plain_json_is_stored_as_it_is() -> None:
    value = {"a": [1, 2.5, None, True, "\u00e9\u4e16"], "b": {"c": []}}
    assert json.loads(xcom.dumps(value)[0]) == value


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinities_come_back(value: float) -> None:
    assert xcom.loads(xcom.dumps([value])[0]) == [value]


def test_nan_comes_back_as_nan() -> None:
    assert math.isnan(xcom.loads(xcom.dumps({"x": math.nan})[0])["x"])


@pytest.mark.parametrize("zone", ["Europe/Vienna", "America/New_York"])
def test_a_doubled_hour_keeps_its_zone_and_its_fold(zone: str) -> None:
    for day in (datetime(2024, 10, 27, 2, 30, tzinfo=UTC), datetime(2024, 11, 3, 1, 30, tzinfo=UTC)):
        for fold in (0, 1):
            moment = day.replace(tzinfo=ZoneInfo(zone), fold=fold)
            back = xcom.loads(xcom.dumps(moment)[0])
            assert (back, back.fold, str(back.tzinfo)) == (moment, fold, zone)


def test_a_huge_integer_comes_back_although_python_limits_decimal_text() -> None:
    value = 7**20_000
    assert xcom.loads(xcom.dumps([value])[0]) == [value]


def test_a_lone_surrogate_and_a_nul_come_back() -> None:
    assert xcom.loads(xcom.dumps("a\ud800\0b")[0]) == "a\ud800\0b"


def test_dataclasses_come_back_as_themselves_without_their_constructor() -> None:
    row = Row(datetime(2024, 1, 1, tzinfo=UTC), [Decimal("1.10")])
    assert xcom.loads(xcom.dumps(Frozen("a", row))[0]) == Frozen("a", row)
    text, _ = xcom.dumps(Guarded(1))
    before = Guarded.calls
    assert xcom.loads(text).made == 1
    assert Guarded.calls == before


def test_pydantic_models_come_back_as_themselves() -> None:
    order = Order(number=1, rows={"a": date(2024, 2, 29)}, paid=Decimal("9.90"))
    assert xcom.loads(xcom.dumps([order])[0]) == [order]


def test_enums_come_back_as_members() -> None:
    back = xcom.loads(xcom.dumps([Colour.BLUE, Level.LOW, Word.YES])[0])
    assert back[0] is Colour.BLUE
    assert back[1] is Level.LOW
    assert back[2] is Word.YES


def test_a_class_that_is_not_loaded_gives_its_data() -> None:
    enum = '{"$type":"enum","class":"no_such_module:Colour","name":"RED","$value":"red"}'
    row = '{"$type":"dataclass","class":"no_such_module:Row","$value":{"a":1}}'
    assert xcom.loads(f"[{enum},{row}]") == ["red", {"a": 1}]


@pytest.mark.parametrize("name", ["os:system", "subprocess:Popen", "builtins:eval", "pathlib:Path", ":", "os:", ""])
@pytest.mark.parametrize("kind", ["enum", "dataclass", "pydantic"])
def test_a_stored_class_name_never_runs_or_imports_anything(name: str, kind: str) -> None:
    value = '"touch /tmp/pwned"' if kind == "enum" else '{"args": "touch /tmp/pwned"}'
    text = f'{{"$type":"{kind}","class":"{name}","$value":{value}}}'
    assert xcom.loads(text) in ("touch /tmp/pwned", {"args": "touch /tmp/pwned"})


def test_a_stored_class_name_imports_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "this", raising=False)
    xcom.loads('{"$type":"enum","class":"this:Zen","$value":1}')
    assert "this" not in __import__("sys").modules


@pytest.mark.parametrize(
    "text",
    [
        '{"$type":"datetime","$value":"not a date"}',
        '{"$type":"decimal","$value":"x"}',
        '{"$type":"set"}',
        '{"$type":"dict","$value":[[1]]}',
        '{"$type":"of a newer version","$value":1}',
        '{"$type":["list"]}',
        '{"$type":"dataclass","$value":3}',
    ],
)
def test_a_malformed_typed_value_comes_back_as_the_dict_that_it_is(text: str) -> None:
    assert xcom.loads(text) == json.loads(text)
    xcom.to_plain(text)


def test_subclasses_come_back_as_the_equal_plain_type() -> None:
    class Text(str):
        __slots__ = ()

    class Special(dict[str, int]):
        pass

    assert xcom.loads(xcom.dumps([Text("a"), Special(a=1), Point(1, 2)])[0]) == ["a", {"a": 1}, (1, 2)]


def test_a_path_comes_back_as_a_path() -> None:
    assert xcom.loads(xcom.dumps(Path("/data/x.csv"))[0]) == Path("/data/x.csv")


def test_one_set_has_one_text() -> None:
    assert xcom.dumps({"b", "a", "c"})[0] == xcom.dumps({"c", "b", "a"})[0]


@pytest.mark.parametrize(
    ("value", "length"),
    [([1, 2], 2), ({}, 0), ((1,), 1), ({"a": 1}, 1), ("text", None), (3, None), ({1, 2}, None), (None, None)],
)
def test_the_length_is_told_for_what_a_task_can_be_mapped_over(value: Any, length: int | None) -> None:
    assert xcom.dumps(value)[1] == length


def test_what_servers_show_of_typed_values_reads_well() -> None:
    value = {
        "when": datetime(2024, 3, 10, 1, 30, tzinfo=ZoneInfo("Europe/Vienna")),
        "took": timedelta(minutes=90),
        "price": Decimal("1.10"),
        "row": Row(datetime(2024, 1, 1, tzinfo=UTC), []),
        1: time(6, 30),
    }
    assert xcom.to_plain(xcom.dumps(value)[0]) == {
        "when": "2024-03-10T01:30:00+01:00",
        "took": "1:30:00",
        "price": "1.10",
        "row": {"when": "2024-01-01T00:00:00+00:00", "amounts": []},
        "1": "06:30:00",
    }


def test_uuid_and_bytes_come_back() -> None:
    value = [UUID(int=5), b"\0\xff", bytearray(b"x")]
    assert xcom.loads(xcom.dumps(value)[0]) == value
