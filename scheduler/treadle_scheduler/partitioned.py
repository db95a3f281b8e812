"""Which partitions of consumers are complete: the part of ``create_asset_runs`` for DAGs scheduled by keys.

Mapping keys and judging what has gathered are pure (``treadle.partitions``); the reads and writes are a statement of
each kind for all consumers of a beat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from treadle.asset_conditions import is_met, parts_of
from treadle.assets import LONGEST_PARTITION_KEY, is_partition_key
from treadle.document import ScheduleDocument
from treadle.partition_documents import loads
from treadle.partitions import MOST_KEYS
from treadle_metadata import dag_warnings
from treadle_metadata.assets.partitions import Gathered, QueuedEvent, gathered, oldest_new, put_under_keys, remove_new

MOST_PLACES: Final = 2000
"""What a beat puts under keys at most, of all consumers together (an event under three keys is three), but for the keys
of one event of each: a backlog of any size holds the beat, and the consumers' rows, for a moment only."""


@dataclass(slots=True)
class Mapped:
    """What a beat has put under keys."""

    seen: list[QueuedEvent] = field(default_factory=list)
    """The events that were looked at, the oldest first."""
    under: list[tuple[QueuedEvent, str]] = field(default_factory=list)
    """Each of them with each of its keys."""
    faults: dict[str, str] = field(default_factory=dict)
    """By consumer, why the last event that belongs to no key belongs to none."""
    is_more: bool = False
    """Whether events were left for the next beat."""


def complete_partitions(
    connection: Connection, schedules: Mapping[str, ScheduleDocument], *, now: datetime
) -> tuple[list[tuple[str, str]], bool]:
    """Put new events of these consumers under their keys; return the (DAG id, key) that are complete now.

    Of each consumer the oldest are looked at, up to its share of ``MOST_PLACES``; the second value tells whether more
    wait. An event that belongs to no key is taken away, and its consumer is warned of the last one.
    """
    share = max(1, MOST_PLACES // len(schedules))
    # One more than there is room for tells whether there are more.
    mapped = map_events(schedules, oldest_new(connection, list(schedules), most=share + 1), share)
    remove_new(connection, mapped.seen)
    dag_warnings.warn(connection, dag_warnings.PARTITION, mapped.faults, now=now)
    put_under_keys(connection, mapped.under)
    changed = sorted({(event.dag_id, key) for event, key in mapped.under})
    found = gathered(connection, changed)
    complete = [one for one in changed if is_complete(schedules[one[0]], one[1], found[one])]
    return complete, mapped.is_more


def map_events(schedules: Mapping[str, ScheduleDocument], events: Iterable[QueuedEvent], share: int) -> Mapped:
    """Map events, the oldest first, until its ``share`` of places is taken of each consumer; an event is never split.

    What is left of a key is then as if it had come later: its consumer may have a further run of that key.
    """
    mapped, places = Mapped(), Counter[str]()
    for event in events:
        if places[event.dag_id] >= share:
            mapped.is_more = True
            continue
        keys, fault = target_keys(schedules[event.dag_id], event)
        places[event.dag_id] += max(1, len(keys))
        mapped.seen.append(event)
        mapped.under += [(event, key) for key in keys]
        if fault:
            mapped.faults[event.dag_id] = fault
    return mapped


def target_keys(schedule: ScheduleDocument, event: QueuedEvent) -> tuple[Sequence[str], str]:
    """Return the keys of its consumer that an event belongs to, or why it belongs to none."""
    named = event.part[1]
    if event.key is None:
        return (
            (),
            f"event {event.event_id} of {named!r} has no partition key, so it belongs to no partition of this DAG",
        )
    try:
        keys = loads(schedule.partitions).of(event.part).downstream_keys(event.key)
        for key in keys[: MOST_KEYS + 1]:
            _check(schedule, key)
    except Exception as error:
        # No key may stop the runs of the other consumers, whatever a mapper makes of it (case A4).
        return (), f"partition key {event.key!r} of {named!r} (event {event.event_id}) cannot be read: {error}"
    if len(keys) > MOST_KEYS:
        return (), f"partition key {event.key!r} of {named!r} is mapped to {len(keys)} keys; {MOST_KEYS} are the most"
    return keys, ""


def _check(schedule: ScheduleDocument, key: str) -> None:
    """Raise if there can be no partition of ``key``, or one that no mapper of the schedule can judge."""
    if not is_partition_key(key):
        raise ValueError(f"it is mapped to {key!r:.80}, expected 1 to {LONGEST_PARTITION_KEY} characters without NUL")
    is_complete(schedule, key, {})


def is_complete(schedule: ScheduleDocument, key: str, found: Gathered) -> bool:
    """Return whether the condition holds of what has gathered for one key."""
    if schedule.condition is None:
        return False
    mappers = loads(schedule.partitions)
    updated = {
        part for part in parts_of(schedule.condition) if mappers.of(part).is_complete(key, found.get(part, frozenset()))
    }
    return is_met(schedule.condition, updated)
