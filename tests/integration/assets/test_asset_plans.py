"""What producers and the beat ask of assets goes by an index, however many events there were and consumers wait."""

from __future__ import annotations

import re

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements

from treadle import Asset, PartitionedAssetTimetable
from treadle.document import AssetCondition, ScheduleDocument, TaskDocument
from treadle_metadata import claims
from treadle_metadata.assets import answers
from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries import assets as questions
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, tuples
from treadle_scheduler.duties.create_asset_runs import create_asset_runs

BIG = re.compile(r"Seq Scan on (asset(_alias_event|_event|_reference|_run_queue)?|dag|dag_run_asset_event)\b")

HISTORY = (
    """
    INSERT INTO dag (dag_id, file, version_id, is_paused, created_at)
    SELECT 'waiting' || n, 'f', (SELECT version_id FROM dag WHERE dag_id = 'both'), false, now()
    FROM generate_series(1, 3000) AS n
    """,
    """
    INSERT INTO asset_reference (dag_id, role, kind, name, created_at)
    SELECT 'waiting' || n, 'schedule', 'asset', part || n, now()
    FROM generate_series(1, 3000) AS n, (VALUES ('x'), ('y')) AS named (part)
    """,
    """
    INSERT INTO asset (name, uri, created_at, updated_at)
    SELECT part || n, part || n, now(), now()
    FROM generate_series(1, 3000) AS n, (VALUES ('x'), ('y')) AS named (part)
    """,
    """
    INSERT INTO asset_event (asset_id, happened_at)
    SELECT id, now() FROM asset, generate_series(1, 5) AS n
    """,
    """
    INSERT INTO asset_run_queue (dag_id, kind, name, event_id, is_new)
    SELECT 'waiting' || n, 'asset', 'x' || n, event, false
    FROM generate_series(1, 3000) AS n, generate_series(1, 5) AS event
    """,
    "INSERT INTO asset_alias_event (alias_name, event_id) SELECT 'alias' || n, n FROM generate_series(1, 20000) AS n",
    # A paused consumer has gathered much, and nobody has looked at it.
    """
    INSERT INTO dag (dag_id, file, version_id, is_paused, created_at)
    SELECT 'paused', 'f', version_id, true, now() FROM dag WHERE dag_id = 'both'
    """,
    """
    INSERT INTO asset_run_queue (dag_id, kind, name, event_id)
    SELECT 'paused', 'asset', 'x1', event FROM generate_series(1, 20000) AS event
    """,
    """
    WITH run AS (
        INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, run_after, queued_at, started_at,
                             ended_at, triggered_by)
        SELECT 'waiting1', 'old' || n, (SELECT version_id FROM dag WHERE dag_id = 'both'), '2026-01-01',
               'asset_triggered', 'success', now(), now(), now(), now(), 'asset'
        FROM generate_series(1, 3000) AS n RETURNING id
    )
    INSERT INTO dag_run_asset_event (dag_id, event_id, dag_run_id)
    SELECT 'old' || run.id, event, run.id FROM run, generate_series(1, 5) AS event
    """,
)


@pytest.fixture
def scheduler(own_database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """Two consumers, among three thousand that wait for a second event."""
    scheduler = TestScheduler(own_database, settings, clock)
    condition = AssetCondition("all", inner=(AssetCondition("asset", "a"), AssetCondition("asset", "b")))
    scheduler.install(a_dag("both", TaskDocument("w"), schedule=ScheduleDocument(kind="assets", condition=condition)))
    scheduler.install(a_dag("keyed", TaskDocument("w"), schedule=PartitionedAssetTimetable(Asset("a")).to_document()))
    with own_database.begin() as connection:
        for statement in HISTORY:
            execute(connection, statement)
    with own_database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    return scheduler


def test_what_a_paused_consumer_has_gathered_is_not_read_by_the_beat(scheduler: TestScheduler) -> None:
    with scheduler.database.begin() as connection:
        plan = "\n".join(
            row[0]
            for row in tuples(
                connection, f"EXPLAIN (ANALYZE, TIMING OFF) {claims._DAGS_WITH_NEW_EVENTS}", {"most": 200}
            )
        )
    read = [int(number) for number in re.findall(r"on asset_run_queue.*?actual rows=(\d+)", plan)]
    assert read
    assert max(read) <= 1, plan


def test_no_statement_about_assets_scans_a_big_table(scheduler: TestScheduler, clock: ManualClock) -> None:
    with recorded_statements(scheduler.database) as seen:
        with scheduler.database.begin() as connection:
            emit(connection, [NewEvent("a", partition_key="k"), NewEvent("b"), NewEvent(None, "x7")], now=clock.now())
        assert create_asset_runs(scheduler.context).count == 2
        with scheduler.database.begin() as connection:
            asset = questions.find_asset(connection, "a")
            answers.asset_events(connection, {"kind": "asset", "name": "x7", "limit": 1, "ascending": False})
            answers.triggering_events(connection, 1)
            questions.list_events(connection, questions.EventFilter(asset_id=asset["id"]), PageRequest())
    offences = []
    with scheduler.database.begin() as connection:
        for statement, parameters in dict(seen).items():
            if not statement.lstrip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
                continue
            plan = "\n".join(row[0] for row in tuples(connection, f"EXPLAIN {statement}", parameters))
            offences += [f"{found[0]}\n{statement}\n{plan}" for found in BIG.finditer(plan)]
    assert offences == []
    assert len(dict(seen)) > 15


def test_the_aliases_of_an_event_are_found_by_the_event(scheduler: TestScheduler) -> None:
    with scheduler.database.begin() as connection:
        with recorded_statements(scheduler.database) as seen:
            answers.asset_events(connection, {"kind": "asset", "name": "x7", "limit": 1})
        (statement, parameters) = seen[-1]
        plan = "\n".join(row[0] for row in tuples(connection, f"EXPLAIN {statement}", parameters))
    assert "asset_alias_event_of_event" in plan, plan
