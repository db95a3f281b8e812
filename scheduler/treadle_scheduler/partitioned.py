"""Which partitions of consumers are complete: the part of ``create_asset_runs`` for DAGs scheduled by keys.

Mapping keys and judging what has gathered are pure (``treadle.partitions``); the reads and writes are a statement of
each kind for all consumers of a beat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from treadle.asset_conditions import is_met, parts_of
from treadle.assets import LONGEST_PARTITION_KEY, is_partition_key
from treadle.document import ScheduleDocument
from treadle.partition_documents import loads
from treadle.partitions import MOST_KEYS
from treadle_metadata import dag_warnings
from treadle_metadata.assets.partitions import Gathered, QueuedEvent, gathered, put_under_keys, take_new


def complete_partitions(
    connection: Connection, schedules: Mapping[str, ScheduleDocument], *, now: datetime
) -> list[tuple[str, str]]:
    """Put new events of these consumers under their keys; return the (DAG id, key) that are complete now.

    An event that belongs to no key is taken away, and its consumer is warned of the last one.
    """
    mapped: list[tuple[QueuedEvent, str]] = []
    faults: dict[str, str] = {}
    for event in take_new(connection, list(schedules)):
        keys, fault = target_keys(schedules[event.dag_id], event)
        mapped += [(event, key) for key in keys]
        if fault:
            faults[event.dag_id] = fault
    dag_warnings.warn(connection, dag_warnings.PARTITION, faults, now=now)
    put_under_keys(connection, mapped)
    changed = sorted({(event.dag_id, key) for event, key in mapped})
    found = gathered(connection, changed)
    return [one for one in changed if is_complete(schedules[one[0]], one[1], found[one])]


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
