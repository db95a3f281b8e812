"""What a scheduler remembers of the runs that it advances, so that a beat reads what has changed and not all rows.

A run's row names the scheduler that evaluated it last (``evaluated_by``). If that is this one, every change since then
stands in the run's wake-ups, so its snapshot is brought up to date by them; else all of it is read again. What a
transaction that did not commit has entered is forgotten, and a scheduler that dies loses nothing but time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection

from treadle_metadata.branches import Named, named_by, named_in
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.deciding.readiness import Change
from treadle_metadata.deciding.snapshot import CODES, EVERY, SUCCESS, Snapshot, rows_of
from treadle_metadata.planning import changed_states, instance_states
from treadle_metadata.transitions import runs

MOST: Final = 500_000
"""Tasks and instances that are remembered, of all runs together: at most 100 MB, mapped ones far less."""

Changed = Mapping[int, frozenset[int] | None]
"""By run, the ids of the instances that changed; None: anything may have."""

Updates = dict[int, tuple[Snapshot, list[Change] | None]]
"""By run, its snapshot and what changed in it since it was decided on last; None: anything may have."""


class Memory:
    """The snapshots of runs; those not looked at for longest are forgotten first."""

    def __init__(self, most: int = MOST) -> None:
        self.scheduler = uuid4().hex
        self._most = most
        self._size = 0
        self._held: OrderedDict[int, tuple[Snapshot, int]] = OrderedDict()

    def forget(self, ids: Iterable[int]) -> None:
        """Forget runs."""
        for one in ids:
            self._size -= self._held.pop(one, (None, 0))[1]

    def forget_all(self) -> None:
        """Forget all runs: a database that was away may come back as a copy without what was committed last."""
        self.forget(list(self._held))

    def look_at(
        self,
        connection: Connection,
        claimed: Sequence[Mapping[str, Any]],
        graphs: Mapping[int, Graph],
        changed: Changed,
        *,
        month: date,
    ) -> Updates:
        """Return up-to-date snapshots of claimed runs of one month: two statements at most, whatever their number."""
        known: dict[int, Snapshot] = {}
        unknown = {}
        for run in claimed:
            snapshot = self._current(run)
            if snapshot is None or changed.get(run["id"], frozenset()) is None:
                unknown[run["id"]] = graphs[run["version_id"]]
            else:
                known[run["id"]] = snapshot
        found: Updates = {**self._follow(connection, known, changed, month), **self.read(connection, unknown, month)}
        # In the order of their claim, which is that of their ids.
        runs.remember(
            connection,
            [run["id"] for run in claimed if run["evaluated_by"] != self.scheduler],
            self.scheduler,
        )
        return {run["id"]: found[run["id"]] for run in claimed}

    def read(self, connection: Connection, of: Mapping[int, Graph], month: date) -> Updates:
        """Read all instances of runs."""
        rows = rows_of(instance_states(connection, list(of), month=month))
        made = {run: Snapshot(graph, rows.get(run, ())) for run, graph in of.items()}
        for run, named in named_in(connection, made, month=month).items():
            _leave_out(made[run], named)
        for run, snapshot in made.items():
            self._keep(run, snapshot)
        return {run: (snapshot, None) for run, snapshot in made.items()}

    def _current(self, run: Mapping[str, Any]) -> Snapshot | None:
        """Return what is remembered of a run, if no other scheduler has evaluated it since, on no other version."""
        held = self._held.get(run["id"])
        if held is None or run["evaluated_by"] != self.scheduler:
            return None
        self._held.move_to_end(run["id"])
        return held[0] if held[0].graph.version_id == run["version_id"] else None

    def _follow(
        self, connection: Connection, known: Mapping[int, Snapshot], changed: Changed, month: date
    ) -> dict[int, tuple[Snapshot, list[Change] | None]]:
        """Enter into snapshots what has changed."""
        ids = sorted({one for run in known for one in changed.get(run) or ()})
        changes: dict[int, list[Change]] = {run: [] for run in known}
        skippers = []
        for run, task_id, map_index, state, instance in changed_states(connection, ids, month=month):
            snapshot = known[run]
            node = snapshot.graph.index.get(task_id)
            if node is None:
                continue
            code = CODES[state]
            changes[run].append((node, map_index + 1, snapshot.set(node, map_index + 1, code)))
            if code == SUCCESS and snapshot.graph.nodes[node].task.can_skip:
                skippers.append(instance)
        for run, named in named_by(connection, skippers, month=month).items():
            changes[run] += _leave_out(known[run], named)
        return {run: (snapshot, changes[run]) for run, snapshot in known.items()}

    def _keep(self, run: int, snapshot: Snapshot) -> None:
        self.forget([run])
        size = len(snapshot)
        self._held[run] = (snapshot, size)
        self._size += size
        while self._size > self._most and len(self._held) > 1:
            self._size -= self._held.popitem(last=False)[1][1]


def _leave_out(snapshot: Snapshot, named: Iterable[Named]) -> list[Change]:
    """Enter what branches left out; return the instances that are to be looked at for it."""
    found: list[Change] = []
    for task_id, map_index, names in named:
        skipper = snapshot.graph.index.get(task_id)
        if skipper is None:
            continue
        for node, place in snapshot.leave_out(skipper, map_index, names):
            codes = snapshot.codes[node]
            places = range(len(codes)) if place == EVERY else (place,)
            found += [(node, one, codes[one]) for one in places if one < len(codes)]
    return found
