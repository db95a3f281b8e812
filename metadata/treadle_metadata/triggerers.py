"""Which triggerer runs which trigger: registered, leased, claimed in fair shares, given back, and taken from the dead.

Called by the Execution API for each beat of a triggerer. What a triggerer runs hangs on its one lease, not on one per
trigger, so a beat costs the same however many it holds. A trigger has one owner at a time, and one that dies is
followed by another as soon as its lease is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata import claims, processes
from treadle_metadata.assets.watchers import PLAIN
from treadle_metadata.crypto import Crypto, CryptoError
from treadle_metadata.statements import execute, rows, tuples

KIND: Final = "triggerer"

MOST_AT_ONCE: Final = 1000
"""Triggers that one beat claims; more come with the next, which follows at once."""

MOST_DEATHS: Final = 3
"""A trigger in whose code so many loops have died, in all its shares, is failed and runs no more."""

UNEVEN: Final = 1.1
SLACK: Final = 50
"""How much more than its share (by factor and by weight) a triggerer may hold before it gives some back."""

_TELL: Final = """
    INSERT INTO triggerer (process_id, capacity, held, trouble, trouble_of)
    VALUES (%(id)s, %(capacity)s, %(held)s, %(trouble)s, %(trouble_of)s)
    ON CONFLICT (process_id) DO UPDATE
    SET capacity = excluded.capacity, held = excluded.held, trouble = excluded.trouble, trouble_of = excluded.trouble_of
    WHERE (triggerer.capacity, triggerer.held, triggerer.trouble, triggerer.trouble_of)
          IS DISTINCT FROM (excluded.capacity, excluded.held, excluded.trouble, excluded.trouble_of)
"""

_TAKE_FROM_DEAD: Final = """
    UPDATE trigger SET owner = NULL
    WHERE owner IN (SELECT process_id FROM triggerer LEFT JOIN process ON process.id = triggerer.process_id
                    WHERE process.id IS NULL OR process.stopped_at IS NOT NULL OR process.lease_until <= %(now)s)
"""

# Of those whose row of ``process`` was forgotten; what they ran is free by then.
_FORGET: Final = """
    DELETE FROM triggerer
    WHERE NOT EXISTS (SELECT FROM process WHERE process.id = triggerer.process_id)
      AND NOT EXISTS (SELECT FROM trigger WHERE trigger.owner = triggerer.process_id)
"""

_PEERS: Final = """
    SELECT triggerer.capacity, triggerer.held
    FROM triggerer JOIN process ON process.id = triggerer.process_id
    WHERE process.stopped_at IS NULL AND process.lease_until > %(now)s AND process.id <> %(id)s
"""

_OWN: Final = """
    WITH mine AS (UPDATE trigger SET owner = %(id)s WHERE id = ANY(%(ids)s) RETURNING *)
    SELECT mine.id, mine.classpath, mine.kwargs, mine.weight, mine.version_id, mine.cancelled_for,
           mine.shared_key IS NOT NULL AS is_watcher, mine.task_instance_id, mine.attempt_id, mine.suspicion,
           mine.death
    FROM mine ORDER BY mine.id
"""

_VERSIONS: Final = """
    SELECT version.id, dag.file, version.file_hash, code.source
    FROM dag_version AS version JOIN dag ON dag.dag_id = version.dag_id
         LEFT JOIN dag_code AS code ON code.hash = version.file_hash
    WHERE version.id = ANY(%(ids)s)
"""

_CANCELLED: Final = """
    SELECT id, cancelled_for FROM trigger WHERE owner = %(id)s AND cancelled_at IS NOT NULL ORDER BY id
"""

_GIVE_BACK: Final = "UPDATE trigger SET owner = NULL WHERE owner = %(id)s AND id = ANY(%(ids)s)"

_SUSPECT: Final = """
    UPDATE trigger SET suspicion = suspicion + 1.0 / %(among)s, death = %(ending)s
    WHERE owner = %(id)s AND id = ANY(%(ids)s)
"""

_DONE: Final = """
    DELETE FROM trigger WHERE owner = %(id)s AND id = ANY(%(ids)s) AND cancelled_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Triggerer:
    """What a triggerer says of itself with each beat.

    ``trouble``: what blocks its loop, in one sentence; ``trouble_of``: the trigger that it is about.
    """

    process_id: UUID | None
    hostname: str
    pid: int
    capacity: int
    held: int
    trouble: str | None = None
    trouble_of: int | None = None


def renew(connection: Connection, one: Triggerer, *, now: datetime, lease_seconds: float) -> UUID:
    """Renew a triggerer's lease and return its id: a new one, if it is new or its lease was over.

    What it ran under another id may be others' by now.
    """
    known = one.process_id
    if known is None or not processes.heartbeat(connection, known, now, lease_seconds, kind=KIND):
        known = processes.register(connection, KIND, now, lease_seconds, place=(one.hostname, one.pid))
        execute(connection, _FORGET)
    told = {"id": known, "capacity": one.capacity, "held": one.held}
    execute(connection, _TELL, told | {"trouble": one.trouble, "trouble_of": one.trouble_of})
    return known


def stop(
    connection: Connection, process_id: UUID, *, suspects: Collection[int] = (), ending: str = "", now: datetime
) -> None:
    """Note that a triggerer ended in order: its triggers are free at once, and none of them is cancelled.

    ``suspects``: those in whose code its loop died, how: ``ending``.
    """
    processes.stop(connection, process_id, now, kind=KIND)
    if suspects:
        died = {"id": process_id, "ids": list(suspects), "among": len(suspects), "ending": ending}
        execute(connection, _SUSPECT, died)
    execute(connection, "UPDATE trigger SET owner = NULL WHERE owner = %(id)s", {"id": process_id})


def take_from_dead(connection: Connection, *, now: datetime) -> int:
    """Free the triggers of triggerers whose lease is over; return how many."""
    return execute(connection, _TAKE_FROM_DEAD, {"now": now})


def claim(
    connection: Connection, process_id: UUID, room: int, *, crypto: Crypto
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Give a triggerer free triggers up to the weight ``room``; return them, and the files of their versions by id."""
    if room <= 0:
        return [], {}
    taken: list[int] = []
    for row in claims.claim_free_triggers(connection, most=min(room, MOST_AT_ONCE)):
        if taken and row["weight"] > room:
            break
        room -= row["weight"]
        taken.append(row["id"])
    if not taken:
        return [], {}
    found = rows(connection, _OWN, {"id": process_id, "ids": taken})
    return [_plain(row, crypto) for row in found], files_of(connection, (row["version_id"] for row in found))


def _plain(row: Mapping[str, Any], crypto: Crypto) -> dict[str, Any]:
    """Return what a triggerer is given; arguments that cannot be read fail the trigger there, alone."""
    plain = dict(row) | {"attempt_id": row["attempt_id"] and str(row["attempt_id"])}
    suspicion, death = plain.pop("suspicion"), plain.pop("death")
    if suspicion > MOST_DEATHS - 0.01:
        ended = f"the triggerer's loop died {MOST_DEATHS} times in its code, the last time {death}; it runs no more"
        return plain | {"kwargs": None, "problem": ended}
    if row["kwargs"].startswith(PLAIN):
        return plain | {"kwargs": row["kwargs"].removeprefix(PLAIN)}
    try:
        plain["kwargs"] = crypto.decrypt(row["kwargs"], f"the arguments of trigger {row['id']}")
    except CryptoError as error:
        plain |= {"kwargs": None, "problem": str(error)}
    return plain


def files_of(connection: Connection, version_ids: Iterable[int | None]) -> dict[str, dict[str, Any]]:
    """Return the DAG files of versions, with the text that each of them has, by the versions' ids as text."""
    wanted = sorted({one for one in version_ids if one is not None})
    found = rows(connection, _VERSIONS, {"ids": wanted}) if wanted else ()
    return {str(row["id"]): {name: row[name] for name in ("file", "file_hash", "source")} for row in found}


def cancelled(connection: Connection, process_id: UUID) -> list[dict[str, Any]]:
    """Return the triggers of a triggerer for which nobody waits any more: ``id`` and ``cancelled_for``."""
    return [dict(row) for row in rows(connection, _CANCELLED, {"id": process_id})]


def give_back(connection: Connection, process_id: UUID, ids: Sequence[int]) -> int:
    """Free triggers that a triggerer has stopped running, for whoever has room; return how many."""
    return execute(connection, _GIVE_BACK, {"id": process_id, "ids": list(ids)}) if ids else 0


def forget_cancelled(connection: Connection, process_id: UUID, ids: Sequence[int]) -> None:
    """Delete triggers that their triggerer has cancelled."""
    if ids:
        execute(connection, _DONE, {"id": process_id, "ids": list(ids)})


def owned(connection: Connection, process_id: UUID) -> list[int]:
    """Return the ids of all that a triggerer is to run, sorted."""
    return [row[0] for row in tuples(connection, "SELECT id FROM trigger WHERE owner = %(id)s", {"id": process_id})]


def share_of(connection: Connection, one: Triggerer, process_id: UUID, *, now: datetime) -> tuple[int, int]:
    """Return the weight that a triggerer has room for, and the weight that it should give back.

    The living share what they hold by their capacities, and what is free is a share's first to take: one that
    joins takes what is free and what the others give back.
    """
    peers = tuples(connection, _PEERS, {"now": now, "id": process_id})
    return shares(one.capacity, one.held, [(row[0], row[1]) for row in peers])


def shares(capacity: int, held: int, peers: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return (room, excess) of a triggerer among ``peers``, each with its capacity and what it holds.

    Alone it takes what fits. Among others it takes in one go no more than its share and a little beyond, and gives back
    what it has above its share, once that is more than a little.
    """
    if not peers:
        return max(0, capacity - held), max(0, held - capacity)
    total = held + sum(other for _, other in peers)
    fair = total * capacity / max(1, capacity + sum(other for other, _ in peers))
    room = min(capacity - held, max(MOST_AT_ONCE // (4 * len(peers)), int(fair) + MOST_AT_ONCE // 10 - held))
    excess = held - int(fair) - 1 if held > fair * UNEVEN + SLACK else 0
    return max(0, room), max(excess, held - capacity, 0)
