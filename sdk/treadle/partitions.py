"""Partitions of assets: from the key of an event to the keys of the runs it belongs to, and what those wait for.

``PartitionedAssetTimetable`` takes these mappers. They are plain data with pure functions: the scheduler reads them
from the DAG's document (``treadle.partition_documents``) and never calls user code. Names follow ``airflow.sdk``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from treadle.assets import is_partition_key
from treadle.errors import InvalidArgumentError
from treadle.partition_windows import SegmentWindow, Window, start_of
from treadle.timetables.zone_offsets import zone_offsets

MOST_KEYS: Final = 1000
"""Keys that one event may be mapped to."""

DEFAULT_INPUT: Final = "%Y-%m-%dT%H:%M:%S"

_ANY_TIME: Final = datetime(2024, 8, 14, 17, 43)  # noqa: DTZ001 - keys tell wall-clock times


class PartitionMapper:
    """Says to which keys of the consumer an upstream key belongs, and which upstream keys such a one waits for."""

    kind: ClassVar[str]

    def downstream_keys(self, key: str) -> Sequence[str]:
        """Return the consumer's keys that an event of ``key`` belongs to; none: it is passed over.

        Raises:
            ValueError: the key is not of the form that the mapper reads.
        """
        raise NotImplementedError

    def is_complete(self, key: str, gathered: Collection[str]) -> bool:  # noqa: ARG002 - for those that wait for more
        """Return whether the consumer's ``key`` has all the upstream keys it waits for."""
        return bool(gathered)

    def missing(self, key: str, gathered: Collection[str]) -> Sequence[str]:  # noqa: ARG002 - as above
        """Return upstream keys that the consumer's ``key`` still lacks, where that is known."""
        return ()


@dataclass(frozen=True, slots=True)
class IdentityMapper(PartitionMapper):
    """The same key."""

    kind: ClassVar[str] = "identity"

    def downstream_keys(self, key: str) -> Sequence[str]:
        """Return the key itself."""
        return (key,)


@dataclass(frozen=True, slots=True)
class AllowedKeyMapper(PartitionMapper):
    """The same key, if it is one of ``allowed_keys``; others are passed over."""

    allowed_keys: Sequence[str]
    kind: ClassVar[str] = "allowed"

    def __post_init__(self) -> None:
        keys = self.allowed_keys
        if isinstance(keys, str) or not all(map(is_partition_key, keys)):
            raise InvalidArgumentError("AllowedKeyMapper", "allowed_keys", keys, "a list of keys")
        _set(self, allowed_keys=tuple(keys))

    def downstream_keys(self, key: str) -> Sequence[str]:
        """Return the key if it is allowed."""
        return (key,) if key in self.allowed_keys else ()


@dataclass(frozen=True, slots=True)
class FixedKeyMapper(PartitionMapper):
    """One key, whatever the upstream key is."""

    downstream_key: str
    kind: ClassVar[str] = "fixed"

    def __post_init__(self) -> None:
        if not is_partition_key(self.downstream_key):
            expected = "a text of 1 to 250 characters"
            raise InvalidArgumentError("FixedKeyMapper", "downstream_key", self.downstream_key, expected)

    def downstream_keys(self, key: str) -> Sequence[str]:  # noqa: ARG002 - the contract's
        """Return the fixed key."""
        return (self.downstream_key,)


@dataclass(frozen=True, slots=True)
class ChainMapper(PartitionMapper):
    """One mapper after the other."""

    mappers: tuple[PartitionMapper, ...]
    kind: ClassVar[str] = "chain"

    def __init__(self, *mappers: PartitionMapper) -> None:
        _set(self, mappers=_at_least_two(self, mappers))

    def downstream_keys(self, key: str) -> Sequence[str]:
        """Return what the last mapper makes of what those before it made."""
        keys: Sequence[str] = (key,)
        for mapper in self.mappers:
            keys = [made for one in keys for made in mapper.downstream_keys(one)]
        return tuple(dict.fromkeys(keys))


@dataclass(frozen=True, slots=True)
class ProductMapper(PartitionMapper):
    """A key of several parts, each with a mapper of its own: ``region|date``."""

    mappers: tuple[PartitionMapper, ...]
    delimiter: str
    kind: ClassVar[str] = "product"

    def __init__(self, *mappers: PartitionMapper, delimiter: str = "|") -> None:
        _set(self, mappers=_at_least_two(self, mappers), delimiter=delimiter)

    def downstream_keys(self, key: str) -> Sequence[str]:
        """Return all combinations of what the parts are mapped to."""
        parts = key.split(self.delimiter)
        if len(parts) != len(self.mappers):
            raise ValueError(f"{len(self.mappers)} parts with {self.delimiter!r} between them")
        keys = [""]
        for number, (mapper, part) in enumerate(zip(self.mappers, parts, strict=True)):
            glue = self.delimiter if number else ""
            keys = [f"{before}{glue}{made}" for before in keys for made in mapper.downstream_keys(part)]
        return tuple(keys)


@dataclass(frozen=True, slots=True)
class TemporalMapper(PartitionMapper):
    """The time that a key tells, cut to the start of a span of ``unit`` in ``timezone``. Base of ``StartOf...``."""

    timezone: str = "UTC"
    input_format: str = DEFAULT_INPUT
    output_format: str = ""
    unit: ClassVar[str]
    default_output: ClassVar[str]

    def __post_init__(self) -> None:
        zone_offsets(self.timezone)
        _set(self, output_format=self.output_format or self.default_output)

    def downstream_keys(self, key: str) -> Sequence[str]:
        """Return the key of the span that the time lies in."""
        return (_text(start_of(self.unit, self.decode_upstream(key)), self.output_format),)

    def decode_upstream(self, key: str) -> datetime:
        """Return the wall-clock time that an upstream key tells, in the mapper's zone."""
        found = _time(key, self.input_format)
        if found.tzinfo is not None:
            found = found.astimezone(zone_offsets(self.timezone).zone)
        return found.replace(tzinfo=None)

    def decode_downstream(self, key: str) -> datetime:
        """Return the start of the span that one of the consumer's keys names."""
        return start_of(self.unit, _time(key, self.output_format).replace(tzinfo=None))

    @property
    def reads_what_it_writes(self) -> bool:
        """Whether the start of a span can be told from its key: not of ``%G-W%V`` without a day, for one."""
        start = start_of(self.unit, _ANY_TIME)
        try:
            return self.decode_downstream(_text(start, self.output_format)) == start
        except ValueError:
            return False

    def encode_upstream(self, time: datetime) -> str:
        """Return the upstream key of a wall-clock time."""
        return _text(time, self.input_format)


class StartOfHourMapper(TemporalMapper):
    """From a time to its hour."""

    kind, unit, default_output = "hour", "hour", "%Y-%m-%dT%H"


class StartOfDayMapper(TemporalMapper):
    """From a time to its day."""

    kind, unit, default_output = "day", "day", "%Y-%m-%d"


class StartOfWeekMapper(TemporalMapper):
    """From a time to the Monday of its week."""

    kind, unit, default_output = "week", "week", "%Y-%m-%d"


class StartOfMonthMapper(TemporalMapper):
    """From a time to its month."""

    kind, unit, default_output = "month", "month", "%Y-%m"


class StartOfQuarterMapper(TemporalMapper):
    """From a time to its quarter; ``{quarter}`` in a format is its number."""

    kind, unit, default_output = "quarter", "quarter", "%Y-Q{quarter}"


class StartOfYearMapper(TemporalMapper):
    """From a time to its year."""

    kind, unit, default_output = "year", "year", "%Y"


@dataclass(frozen=True, slots=True)
class WaitForAll:
    """Every key of the window must be there."""

    kind: ClassVar[str] = "all"

    def needed(self, expected: int) -> int:
        """Return how many of ``expected`` keys must be there."""
        return expected


@dataclass(frozen=True, slots=True)
class MinimumCount:
    """``n`` keys of the window suffice; below zero: all but that many."""

    n: int
    kind: ClassVar[str] = "minimum"

    def needed(self, expected: int) -> int:
        """Return how many of ``expected`` keys must be there."""
        return max(1, min(expected, self.n if self.n > 0 else expected + self.n))


@dataclass(frozen=True, slots=True, kw_only=True)
class RollupMapper(PartitionMapper):
    """Many upstream keys make one of the consumer's, which waits for those that ``window`` names.

    ``RollupMapper(upstream_mapper=StartOfMonthMapper(), window=MonthWindow())`` waits for the 28 to 31 days of a month.
    """

    upstream_mapper: PartitionMapper
    window: Window | SegmentWindow
    wait_policy: WaitForAll | MinimumCount = WaitForAll()
    kind: ClassVar[str] = "rollup"

    def __post_init__(self) -> None:
        mapper = self.upstream_mapper
        if not isinstance(self.window, Window):
            return
        if not isinstance(mapper, TemporalMapper):
            expected = "a StartOf... mapper, since the window is one of time"
            raise InvalidArgumentError("RollupMapper", "upstream_mapper", mapper, expected)
        if not mapper.reads_what_it_writes:
            expected = f"an output_format that tells the start of a {mapper.unit} and can be read back"
            raise InvalidArgumentError("RollupMapper", "output_format", mapper.output_format, expected)

    def downstream_keys(self, key: str) -> Sequence[str]:
        """Return what the upstream mapper makes of the key."""
        return self.upstream_mapper.downstream_keys(key)

    def expected(self, key: str) -> Sequence[str]:
        """Return the upstream keys that belong to one of the consumer's keys."""
        if isinstance(self.window, SegmentWindow):
            return self.window.segments
        mapper = self.upstream_mapper
        assert isinstance(mapper, TemporalMapper)
        return [mapper.encode_upstream(time) for time in self.window.times(mapper.decode_downstream(key))]

    def is_complete(self, key: str, gathered: Collection[str]) -> bool:
        """Return whether as many of the expected keys are there as the policy asks for."""
        expected = set(self.expected(key))
        return len(expected.intersection(gathered)) >= self.wait_policy.needed(len(expected))

    def missing(self, key: str, gathered: Collection[str]) -> Sequence[str]:
        """Return the expected keys that are not there."""
        return [one for one in self.expected(key) if one not in gathered]


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutMapper(PartitionMapper):
    """One upstream key makes many of the consumer's: those of the window that begins at it."""

    upstream_mapper: TemporalMapper
    window: Window
    downstream_mapper: TemporalMapper
    kind: ClassVar[str] = "fan_out"

    def downstream_keys(self, key: str) -> Sequence[str]:
        """Return the key of each time in the window."""
        begin = start_of(self.upstream_mapper.unit, self.upstream_mapper.decode_upstream(key))
        mapper = self.downstream_mapper
        made = [_text(start_of(mapper.unit, time), mapper.output_format) for time in self.window.times(begin)]
        return tuple(dict.fromkeys(made))


def _at_least_two(owner: object, mappers: Sequence[Any]) -> tuple[PartitionMapper, ...]:
    if len(mappers) < 2 or not all(isinstance(one, PartitionMapper) for one in mappers):
        raise InvalidArgumentError(type(owner).__name__, "mappers", list(mappers), "two mappers or more")
    return tuple(mappers)


def _set(frozen: object, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def _time(key: str, form: str) -> datetime:
    """Return the time that a key tells in a format of ``strptime``, in which ``{quarter}`` may stand."""
    if "{quarter}" not in form:
        return datetime.strptime(key, form)  # noqa: DTZ007 - keys tell wall-clock times
    before, _, after = form.partition("{quarter}")
    for quarter in range(1, 5):
        try:
            found = datetime.strptime(key, f"{before}{quarter}{after}")  # noqa: DTZ007 - as above
        except ValueError:
            continue
        return found.replace(month=3 * quarter - 2)
    raise ValueError(f"a time of the form {form!r}")


def _text(time: datetime, form: str) -> str:
    if time.year < 1000:  # the C library writes such years without zeros, and does not read them so
        form = form.replace("%Y", f"{time.year:04}")
    return time.replace(tzinfo=UTC).strftime(form).replace("{quarter}", str((time.month + 2) // 3))
