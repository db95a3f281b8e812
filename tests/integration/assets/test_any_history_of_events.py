"""Whatever happens in whatever order, consumers' runs are those of a slow, obvious account (cases A42 to A44)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import AssetCondition, ScheduleDocument, TaskDocument
from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

A, B = AssetCondition("asset", "a"), AssetCondition("asset", "b")
CONSUMERS = {
    "of_a": A,
    "of_both": AssetCondition("all", inner=(A, B)),
    "of_either": AssetCondition("any", inner=(A, B)),
    "of_alias": AssetCondition("all", inner=(AssetCondition("alias", "x"), B)),
}


@dataclass(slots=True)
class Account:
    """One consumer as a bookkeeper would keep it."""

    condition: AssetCondition
    is_paused: bool = False
    pending: list[tuple[int, frozenset[tuple[str, str]]]] = field(default_factory=list)
    runs: list[list[int]] = field(default_factory=list)

    def hear(self, event: int, keys: frozenset[tuple[str, str]]) -> None:
        """Take note of an event, if the condition names it."""
        if keys & _names(self.condition):
            self.pending.append((event, keys))

    def beat(self) -> None:
        """Make a run of all that is pending, if the condition holds."""
        seen = frozenset[tuple[str, str]]().union(*(keys for _, keys in self.pending))
        if not self.is_paused and self.pending and _holds(self.condition, seen):
            self.runs.append([event for event, _ in self.pending])
            self.pending = []


def _names(condition: AssetCondition) -> frozenset[tuple[str, str]]:
    parts = [_names(one) for one in condition.inner] or [frozenset({(condition.kind, condition.name)})]
    return frozenset[tuple[str, str]]().union(*parts)


def _holds(condition: AssetCondition, seen: frozenset[tuple[str, str]]) -> bool:
    if not condition.inner:
        return (condition.kind, condition.name) in seen
    held = [_holds(one, seen) for one in condition.inner]
    return all(held) if condition.kind == "all" else any(held)


STEPS = st.one_of(
    st.tuples(st.just("tell"), st.sampled_from("ab"), st.booleans()),
    st.tuples(st.just("beat")),
    st.tuples(st.just("pause"), st.sampled_from(sorted(CONSUMERS)), st.booleans()),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=25))
def test_runs_are_those_that_the_account_makes(
    database: Database, settings: Settings, clock: ManualClock, steps: Sequence[Any]
) -> None:
    _forget_all(database)
    scheduler = TestScheduler(database, settings, clock)
    accounts = {dag_id: Account(condition) for dag_id, condition in CONSUMERS.items()}
    for dag_id, condition in CONSUMERS.items():
        schedule = ScheduleDocument(kind="assets", condition=condition)
        scheduler.install(a_dag(dag_id, TaskDocument("work", is_empty=True), schedule=schedule))
    for kind, *facts in [*steps, ("beat",)]:
        if kind == "tell":
            name, by_alias = facts
            aliases = ("x",) if by_alias else ()
            with database.begin() as connection:
                (event,) = emit(connection, [NewEvent(name, aliases=aliases)], now=clock.now())
            keys = frozenset({("asset", name), *(("alias", alias) for alias in aliases)})
            for account in accounts.values():
                account.hear(event, keys)
        elif kind == "pause":
            dag_id, accounts[facts[0]].is_paused = facts
            scheduler.set_dag(dag_id, is_paused=facts[1])
        else:
            scheduler.beats()
            for account in accounts.values():
                account.beat()
    assert _made(database) == {dag_id: account.runs for dag_id, account in accounts.items() if account.runs}


def _made(database: Database) -> Mapping[str, list[list[int]]]:
    made: dict[str, list[list[int]]] = {}
    with database.begin() as connection:
        for row in rows(
            connection,
            """
            SELECT run.dag_id, array_agg(taken.event_id ORDER BY taken.event_id) AS events
            FROM dag_run AS run JOIN dag_run_asset_event AS taken ON taken.dag_run_id = run.id
            GROUP BY run.id ORDER BY run.id
            """,
        ):
            made.setdefault(row["dag_id"], []).append(row["events"])
    return made


def _forget_all(database: Database) -> None:
    """Empty what an earlier example left; the fixture does it between tests only."""
    tables = ("asset_run_queue", "dag_run_asset_event", "asset_event", "asset_alias_event", "asset_reference", "asset")
    with database.begin() as connection:
        for table in (*tables, "task_instance", "run_wakeup", "dag_run", "dag", "dag_version"):
            execute(connection, f"DELETE FROM {table}")
