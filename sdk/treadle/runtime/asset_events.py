"""Asset events as a task sees them: those it emits, those of its inlets, and those that made its run.

The context loads this on need. What a task says of its outlets is kept here and leaves with the attempt's result, so
that an attempt that fails or dies has emitted nothing. Events of others are asked of the supervisor when they are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import GeneratorType
from typing import Any, overload

from treadle.assets import (
    LONGEST_PARTITION_KEY,
    Asset,
    AssetAlias,
    AssetRef,
    Metadata,
    NamedAsset,
    is_partition_key,
    plain_extra,
)
from treadle.document import AssetKey
from treadle.errors import NoSuchAssetError
from treadle.moments import moment_of
from treadle.runtime.supervisor import AssetEventQuestion, Supervisor
from treadle.runtime.task_instance import moment


@dataclass(frozen=True, slots=True)
class AssetEvent:
    """One update of an asset. ``extra`` is what its source said; data only, it is never interpreted (case F24)."""

    asset: Asset
    extra: Mapping[str, Any]
    timestamp: datetime | None
    partition_key: str | None = None
    source_dag_id: str | None = None
    source_task_id: str | None = None
    source_run_id: str | None = None
    source_map_index: int | None = None
    aliases: tuple[str, ...] = ()

    @property
    def uri(self) -> str:
        """The asset's address."""
        return self.asset.uri


def event_of(facts: Mapping[str, Any]) -> AssetEvent:
    """Return an event from what a supervisor answers."""
    return AssetEvent(
        asset=Asset(facts["name"], facts["uri"], group=facts.get("group") or "asset"),
        extra=facts.get("extra") or {},
        timestamp=moment(facts.get("timestamp")),
        partition_key=facts.get("partition_key"),
        source_dag_id=facts.get("source_dag_id"),
        source_task_id=facts.get("source_task_id"),
        source_run_id=facts.get("source_run_id"),
        source_map_index=facts.get("source_map_index"),
        aliases=tuple(facts.get("aliases") or ()),
    )


@dataclass(slots=True)
class OutletEvent:
    """What the task says of one outlet: ``extra`` of its event, partitions, or the assets that an alias stands for."""

    outlet: NamedAsset
    extra: dict[str, Any] = field(default_factory=dict)
    partition_keys: list[str] = field(default_factory=list)
    added: list[tuple[NamedAsset, dict[str, Any]]] = field(default_factory=list)

    def add(self, asset: NamedAsset, extra: Mapping[str, Any] | None = None) -> None:
        """Emit an event of ``asset`` through this alias when the task succeeds.

        Raises:
            TypeError: the outlet is no alias, or ``asset`` is one.
        """
        if not isinstance(self.outlet, AssetAlias):
            raise TypeError(f"{self.outlet!r} is no alias; its event is emitted by itself, give it .extra")
        if not isinstance(asset, (Asset, AssetRef)):
            raise TypeError(f"an alias stands for assets: expected Asset(...) or Asset.ref(...), found {asset!r}")
        new = (asset, plain_extra(extra))
        if new not in self.added:
            self.added.append(new)

    def add_partitions(self, keys: Iterable[str] | str) -> None:
        """Emit one event for each of these partitions of the asset, instead of one for the whole.

        Raises:
            ValueError: a key is no text of 1 to 250 characters.
        """
        for key in [keys] if isinstance(keys, str) else keys:
            if not is_partition_key(key):
                raise ValueError(f"a partition key is a text of 1 to {LONGEST_PARTITION_KEY} characters, not {key!r}")
            if key not in self.partition_keys:
                self.partition_keys.append(key)

    def reported(self, partition_key: str | None) -> Iterator[dict[str, Any]]:
        """Yield the events in the form of ``AttemptResult.asset_events``; the run's partition is theirs by default."""
        alias = self.outlet if isinstance(self.outlet, AssetAlias) else None
        events = self.added if alias else [(self.outlet, plain_extra(self.extra))]
        for asset, extra in events:
            keys: list[str | None] = [*self.partition_keys] or [partition_key]
            for key in keys:
                yield {
                    **_identity(asset),
                    "extra": extra,
                    "aliases": [alias.name] if alias else [],
                    "partition_key": key,
                }


def given_event(item: Asset | Metadata) -> dict[str, Any]:
    """Return an event that a test gives, in the form of ``AttemptResult.asset_events``.

    Raises:
        TypeError: it is neither an asset nor the metadata of one.
    """
    metadata = item if isinstance(item, Metadata) else Metadata(item)
    if not isinstance(metadata.asset, (Asset, AssetRef)):
        raise TypeError(f"a triggering event is an Asset or Metadata(asset, extra), not {item!r:.200}")
    aliases = [metadata.alias.name] if metadata.alias else []
    return {**_identity(metadata.asset), "extra": metadata.extra, "aliases": aliases, "partition_key": None}


def _identity(asset: NamedAsset) -> dict[str, Any]:
    if isinstance(asset, Asset):
        return {"name": asset.name, "uri": asset.uri, "group": asset.group, "asset_extra": asset.extra}
    kind, name = asset.key
    return {"uri": name} if kind == "uri" else {"name": name}


class OutletEvents(Mapping[NamedAsset, OutletEvent]):
    """``outlet_events``: one entry for each of the task's outlets."""

    def __init__(self, outlets: Sequence[NamedAsset], partition_key: str | None) -> None:
        self._events = {one.key: OutletEvent(one) for one in outlets}
        self._partition_key = partition_key
        self._replayed: list[dict[str, Any]] | None = None

    def __getitem__(self, outlet: NamedAsset) -> OutletEvent:
        found = self._events.get(_key_of(outlet))
        if found is None:
            raise NoSuchAssetError("outlet", outlet, [one.outlet for one in self._events.values()])
        return found

    def __iter__(self) -> Iterator[NamedAsset]:
        return (one.outlet for one in self._events.values())

    def __len__(self) -> int:
        return len(self._events)

    def note(self, metadata: Metadata) -> None:
        """Take in what a task yielded."""
        if metadata.alias is not None:
            self[metadata.alias].add(metadata.asset, metadata.extra)
        else:
            self[metadata.asset].extra.update(metadata.extra)

    def replay(self, events: list[dict[str, Any]]) -> None:
        """Let the events be these, which an attempt before this one has committed."""
        self._replayed = events

    def reported(self) -> list[dict[str, Any]]:
        """Return all events of a successful attempt (``AttemptResult.asset_events``)."""
        if self._replayed is not None:
            return self._replayed
        return [event for one in self._events.values() for event in one.reported(self._partition_key)]


def drain(generator: GeneratorType[Any, Any, Any], outlet_events: OutletEvents) -> Any:
    """Run a task that yields :class:`Metadata` to its end, and return what it returns.

    Raises:
        TypeError: it yields something else.
    """
    while True:
        try:
            item = next(generator)
        except StopIteration as end:
            return end.value
        if not isinstance(item, Metadata):
            raise TypeError(f"a task that yields may yield Metadata(asset, extra) only, not {item!r:.200}")
        outlet_events.note(item)


class InletEventsOf(Sequence[AssetEvent]):
    """The events of one inlet, the oldest first, fetched when they are read. Each filter gives a new sequence."""

    def __init__(self, supervisor: Supervisor, question: AssetEventQuestion) -> None:
        self._supervisor = supervisor
        self._question = question
        self._found: list[AssetEvent] | None = None

    def after(self, time: datetime | str) -> InletEventsOf:
        """Return the events at ``time`` or later."""
        return self._with(after=_text(time))

    def before(self, time: datetime | str) -> InletEventsOf:
        """Return the events before ``time``."""
        return self._with(before=_text(time))

    def limit(self, most: int) -> InletEventsOf:
        """Return the first ``most`` events in this order."""
        return self._with(limit=most)

    def ascending(self, value: bool = True) -> InletEventsOf:
        """Return the events, the oldest first (True) or the newest first."""
        return self._with(ascending=value)

    def _with(self, **changes: Any) -> InletEventsOf:
        return InletEventsOf(self._supervisor, replace(self._question, **changes))

    def _all(self) -> list[AssetEvent]:
        if self._found is None:
            self._found = [event_of(one) for one in self._supervisor.get_asset_events(self._question)]
        return self._found

    @overload
    def __getitem__(self, index: int) -> AssetEvent: ...
    @overload
    def __getitem__(self, index: slice) -> list[AssetEvent]: ...
    def __getitem__(self, index: int | slice) -> AssetEvent | list[AssetEvent]:
        if self._found is None and isinstance(index, int) and index < 0 and self._question.limit is None:
            # The newest event is what tasks ask for; a long history need not travel for it.
            newest = self.ascending(not self._question.ascending).limit(-index)._all()
            if len(newest) < -index:
                raise IndexError(f"there is no event {index}, there are {len(newest)}")
            return newest[-1]
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())


class InletEvents(Mapping[NamedAsset, InletEventsOf]):
    """``inlet_events``: the events of each of the task's inlets."""

    def __init__(self, inlets: Sequence[NamedAsset], supervisor: Supervisor) -> None:
        self._inlets = {one.key: one for one in inlets}
        self._supervisor = supervisor

    def __getitem__(self, inlet: NamedAsset) -> InletEventsOf:
        key = _key_of(inlet)
        if key not in self._inlets:
            raise NoSuchAssetError("inlet", inlet, self._inlets.values())
        return InletEventsOf(self._supervisor, AssetEventQuestion(*key))

    def asset(self, name: str) -> Asset:
        """Return the inlet of this name with what the server knows of it; just its name, if nobody defined it."""
        found = self._supervisor.get_asset("asset", name)
        if found is None:
            return Asset(name)
        return Asset(name, found["uri"], group=found.get("group") or "asset", extra=found.get("asset_extra"))

    def __iter__(self) -> Iterator[NamedAsset]:
        return iter(self._inlets.values())

    def __len__(self) -> int:
        return len(self._inlets)


class TriggeringAssetEvents(Mapping[NamedAsset, Sequence[AssetEvent]]):
    """``triggering_asset_events``: the events that the run was made of, by asset; an alias finds those through it."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._found: list[AssetEvent] | None = None

    def _events(self) -> list[AssetEvent]:
        # Fetched when read: a task that takes all of its context does not mean to ask the server.
        if self._found is None:
            self._found = [event_of(one) for one in self._supervisor.get_triggering_asset_events()]
        return self._found

    def __getitem__(self, asset: NamedAsset) -> Sequence[AssetEvent]:
        key = _key_of(asset)
        found = [one for one in self._events() if key in _keys_of(one)]
        if not found:
            raise NoSuchAssetError("triggering asset", asset, list(self))
        return found

    def __iter__(self) -> Iterator[NamedAsset]:
        return iter(dict.fromkeys(one.asset for one in self._events()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _keys_of(event: AssetEvent) -> set[AssetKey]:
    return {event.asset.key, ("uri", event.uri), *(("alias", name) for name in event.aliases)}


def _key_of(asset: Any) -> AssetKey:
    key: AssetKey = getattr(asset, "key", ("", ""))
    return key


def _text(time: datetime | str) -> str:
    found = moment_of(time)
    assert found is not None
    return found.isoformat()
