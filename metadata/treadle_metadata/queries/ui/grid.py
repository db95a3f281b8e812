"""The grid of a DAG: a page of its runs, and of each the state of every task and group; two statements.

A run's cells come out of one index of its partition; a mapped task is counted by state in the database, so that a run
of ten thousand instances is some rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.queries.conditions import Between, Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.queries.tries import CURRENT_TRY
from treadle_metadata.queries.ui.summaries import add, state_of
from treadle_metadata.statements import tuples
from treadle_metadata.states import RunState

_SELECT: Final[LiteralString] = """
    run.id, run.run_id, run.month, run.state, run.run_type, run.run_after, run.logical_date, run.queued_at,
    run.started_at, run.ended_at, run.note IS NOT NULL AS has_note, run.triggering_user, run.backfill_id,
    run.version_id, version.number AS version_number
"""
_SOURCE: Final[LiteralString] = "dag_run AS run JOIN dag_version AS version ON version.id = run.version_id"
_SORTS: Final = {"run_after": SortKey("run.run_after", "timestamptz"), "id": SortKey("run.id", "bigint")}

# Named by run and month, so that each run is looked up in its own partition; the months are values beside, so that the
# plan is made for their partitions only.
_CELLS: Final[LiteralString] = f"""
    SELECT cell.*
    FROM unnest(%(ids)s::bigint[], %(months)s::date[]) AS run (id, month) CROSS JOIN LATERAL (
        SELECT task_id, state, count(*) AS number, max({CURRENT_TRY}) AS tries, bool_or(map_index >= 0) AS mapped,
               min(started_at) AS started, max(ended_at) AS ended
        FROM task_instance AS instance
        WHERE instance.dag_run_id = run.id AND instance.month = run.month AND instance.month = ANY(%(distinct_months)s)
        GROUP BY task_id, state
    ) AS cell
"""

# A grid of many runs shows no times. A run's cells come as one value, which costs a fifth of as many rows.
_STATES: Final[LiteralString] = f"""
    SELECT run.id, (
        SELECT json_agg(json_build_array(task_id, state, number, tries, mapped)) FROM (
            SELECT task_id, state, count(*) AS number, max({CURRENT_TRY}) AS tries, bool_or(map_index >= 0) AS mapped
            FROM task_instance AS instance
            WHERE instance.dag_run_id = run.id AND instance.month = run.month
              AND instance.month = ANY(%(distinct_months)s)
            GROUP BY task_id, state
        ) AS cell)
    FROM unnest(%(ids)s::bigint[], %(months)s::date[]) AS run (id, month)
"""


@dataclass(slots=True)
class Cell:
    """A task or group in a run: how many of its instances are in which state, and its most tries."""

    counts: dict[str, int]
    tries: int = 0
    is_mapped: bool = False
    started: Any = None
    ended: Any = None

    @property
    def state(self) -> str:
        """The state that stands for all of it."""
        return state_of(self.counts)

    def take(self, other: Cell) -> None:
        """Add what another one counts."""
        add(self.counts, other.counts)
        self.tries = max(self.tries, other.tries)
        self.is_mapped = self.is_mapped or other.is_mapped
        self.started = min(filter(None, (self.started, other.started)), default=None)
        self.ended = max(filter(None, (self.ended, other.ended)), default=None)


Cells = dict[str, Cell]


def list_runs(
    connection: Connection,
    dag_id: str,
    page: PageRequest,
    *,
    states: Sequence[str] = (),
    run_types: Sequence[str] = (),
    run_ids: Sequence[str] = (),
    until: datetime | None = None,
) -> Page:
    """Return a page of a DAG's runs, the newest first: of all, or of those with a ``run_after`` before ``until``."""
    conditions = Conditions()
    conditions.equals("run.dag_id", "dag_id", dag_id)
    conditions.states("run.state", RunState, states)
    conditions.any_of("run.run_type", "run_types", run_types)
    conditions.any_of("run.run_id", "run_ids", run_ids)
    conditions.between("run.run_after", "run_after", Between(lt=until))
    return fetch_page(
        connection,
        select=_SELECT,
        source=_SOURCE,
        conditions=conditions,
        sorts=_SORTS,
        default=("-run_after",),
        unique=("id",),
        request=page,
    )


def cells(connection: Connection, run: tuple[int, date]) -> Cells:
    """Return the cells of a run (id, month) by task, with the times at which they ran."""
    found: Cells = {}
    for task_id, state, number, tries, mapped, started, ended in tuples(connection, _CELLS, _named([run])):
        _put(found, task_id, Cell({state: number}, tries, mapped, started, ended))
    return found


def states(connection: Connection, runs: Sequence[tuple[int, date]]) -> dict[int, Cells]:
    """Return the cells of these runs (id, month) by run and task, without times."""
    found: dict[int, Cells] = {}
    for run, listed in tuples(connection, _STATES, _named(runs)) if runs else ():
        of_run = found[run] = {}
        for task_id, state, number, tries, mapped in listed or ():
            _put(of_run, task_id, Cell({state: number}, tries, mapped))
    return found


def _named(runs: Sequence[tuple[int, date]]) -> dict[str, Any]:
    return {
        "ids": [run for run, _ in runs],
        "months": [month for _, month in runs],
        "distinct_months": sorted({month for _, month in runs}),
    }


def _put(into: Cells, name: str, cell: Cell) -> None:
    known = into.get(name)
    if known is None:
        into[name] = cell
    else:
        known.take(cell)


def with_groups(cells_of_run: Cells, groups_of: Mapping[str, Sequence[str]]) -> Cells:
    """Return the cells of a run with one for each group, of all that stands in it."""
    found = dict(cells_of_run)
    for task_id, cell in cells_of_run.items():
        for group in groups_of.get(task_id, ()):
            _put(found, group, Cell(dict(cell.counts), cell.tries, True, cell.started, cell.ended))
    return found
