"""Fixtures of the tests of the UI's endpoints: those of the web tests, and a DAG that has run."""

from __future__ import annotations

import pytest
from tests.integration.web.conftest import admin, anyone, app, weather
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.web_database import web_database

from treadle.document import AssetCondition, DagDocument, GroupDocument, ScheduleDocument, TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

__all__ = ["admin", "anyone", "app", "sales", "scheduler", "weather", "web_database"]

SALES: DagDocument = a_dag(
    "sales",
    TaskDocument(task_id="extract", operator="PythonOperator", outlets=(("asset", "raw"),)),
    TaskDocument(task_id="clean.rows", group_id="clean", upstream=("extract",)),
    TaskDocument(task_id="clean.deep.keys", group_id="clean.deep", upstream=("clean.rows",)),
    TaskDocument(task_id="load", upstream=("clean.deep.keys", "extract"), inlets=(("uri", "file:///x"),)),
    groups=(GroupDocument("clean", tooltip="Rows and keys"), GroupDocument("clean.deep", parent="clean")),
    edge_labels=(("extract", "load", "at once"),),
    schedule=ScheduleDocument(kind="cron", expressions=("0 * * * *",), summary="0 * * * *"),
    start_date="2026-01-01T00:00:00+00:00",
)
REPORTS = a_dag(
    "reports",
    TaskDocument(task_id="show"),
    schedule=ScheduleDocument(
        kind="assets",
        condition=AssetCondition("all", inner=(AssetCondition("asset", "raw"), AssetCondition("asset", "other"))),
    ),
)


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A scheduler whose attempts succeed at once."""
    return TestScheduler(database, settings, clock)


@pytest.fixture
def sales(scheduler: TestScheduler) -> str:
    """DAG ``sales`` with groups, that has run once; and ``reports``, which waits for two assets."""
    scheduler.install(SALES, tags=["money"], owners=["bob"], schedule_summary="0 * * * *", description="Sells")
    scheduler.install(REPORTS)
    scheduler.trigger("sales", run_id="one")
    scheduler.beats()
    return "/ui/dags/sales"
