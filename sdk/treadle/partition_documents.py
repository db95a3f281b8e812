"""How a partitioned schedule is written into a DAG's document and read back: as canonical JSON text of known kinds.

No text names a class: what is not one of our mappers is refused when the file is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from treadle import partitions
from treadle.document import AssetKey
from treadle.errors import InvalidArgumentError
from treadle.partition_windows import WINDOWS, SegmentWindow
from treadle.partitions import (
    AllowedKeyMapper,
    ChainMapper,
    FanOutMapper,
    FixedKeyMapper,
    IdentityMapper,
    MinimumCount,
    PartitionMapper,
    ProductMapper,
    RollupMapper,
    TemporalMapper,
    WaitForAll,
)

Json = Any


@dataclass(frozen=True, slots=True)
class Partitioning:
    """Which mapper reads the events of which part of the condition."""

    default: PartitionMapper
    own: Mapping[AssetKey, PartitionMapper]

    def of(self, key: AssetKey) -> PartitionMapper:
        """Return the mapper for events of this part."""
        return self.own.get(key, self.default)


_TEMPORAL: Final[dict[str, type[TemporalMapper]]] = {
    one.kind: one
    for one in (
        partitions.StartOfHourMapper,
        partitions.StartOfDayMapper,
        partitions.StartOfWeekMapper,
        partitions.StartOfMonthMapper,
        partitions.StartOfQuarterMapper,
        partitions.StartOfYearMapper,
    )
}


def dumps(partitioning: Partitioning) -> str:
    """Return the canonical text of a partitioning."""
    plain = {
        "default": _plain(partitioning.default),
        "own": [[*key, _plain(partitioning.own[key])] for key in sorted(partitioning.own)],
    }
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


@lru_cache(maxsize=4096)
def loads(text: str) -> Partitioning:
    """Read a partitioning back from its text."""
    plain = json.loads(text)
    return Partitioning(_read(plain["default"]), {(kind, name): _read(one) for kind, name, one in plain["own"]})


def _plain(mapper: PartitionMapper) -> Json:
    match mapper:
        case TemporalMapper() if type(mapper) is _TEMPORAL.get(mapper.kind):
            return {
                "kind": mapper.kind,
                "timezone": mapper.timezone,
                "input": mapper.input_format,
                "output": mapper.output_format,
            }
        case IdentityMapper():
            return {"kind": mapper.kind}
        case AllowedKeyMapper():
            return {"kind": mapper.kind, "keys": list(mapper.allowed_keys)}
        case FixedKeyMapper():
            return {"kind": mapper.kind, "key": mapper.downstream_key}
        case ChainMapper():
            return {"kind": mapper.kind, "mappers": [_plain(one) for one in mapper.mappers]}
        case ProductMapper():
            mappers = [_plain(one) for one in mapper.mappers]
            return {"kind": mapper.kind, "mappers": mappers, "delimiter": mapper.delimiter}
        case RollupMapper() | FanOutMapper():
            return _plain_windowed(mapper)
    expected = "one of treadle's mappers; the scheduler runs no code of DAG files"
    raise InvalidArgumentError("PartitionedAssetTimetable", "partition mapper", mapper, expected)


def _plain_windowed(mapper: RollupMapper | FanOutMapper) -> Json:
    window = mapper.window
    plain: dict[str, Json] = {"kind": mapper.kind, "upstream": _plain(mapper.upstream_mapper)}
    if isinstance(window, SegmentWindow):
        plain["window"] = {"kind": window.kind, "segments": list(window.segments)}
    else:
        plain["window"] = {"kind": window.kind, "direction": str(window.direction)}
    if isinstance(mapper, FanOutMapper):
        plain["downstream"] = _plain(mapper.downstream_mapper)
    elif isinstance(mapper.wait_policy, MinimumCount):
        plain["minimum"] = mapper.wait_policy.n
    return plain


def _read(plain: Json) -> PartitionMapper:
    kind = plain["kind"]
    if kind in _TEMPORAL:
        return _TEMPORAL[kind](plain["timezone"], plain["input"], plain["output"])
    match kind:
        case "identity":
            return IdentityMapper()
        case "allowed":
            return AllowedKeyMapper(tuple(plain["keys"]))
        case "fixed":
            return FixedKeyMapper(plain["key"])
        case "chain":
            return ChainMapper(*map(_read, plain["mappers"]))
        case "product":
            return ProductMapper(*map(_read, plain["mappers"]), delimiter=plain["delimiter"])
    return _read_windowed(plain)


def _read_windowed(plain: Json) -> PartitionMapper:
    window: Any = plain["window"]
    read = SegmentWindow(window["segments"]) if "segments" in window else WINDOWS[window["kind"]](window["direction"])
    upstream: Any = _read(plain["upstream"])
    if plain["kind"] == "fan_out":
        downstream: Any = _read(plain["downstream"])
        return FanOutMapper(upstream_mapper=upstream, window=read, downstream_mapper=downstream)  # type: ignore[arg-type]
    policy = MinimumCount(plain["minimum"]) if "minimum" in plain else WaitForAll()
    return RollupMapper(upstream_mapper=upstream, window=read, wait_policy=policy)
