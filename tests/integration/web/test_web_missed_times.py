"""The times that became no run, over HTTP, and what a DAG's details say of its policies."""

from __future__ import annotations

from tests.support.scheduling import a_dag, install
from tests.support.web import Client

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import schedules
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database


def test_missed_times_and_policies_are_told(admin: Client, database: Database, clock: ManualClock) -> None:
    """Case A65."""
    now = clock.now()
    schedule = ScheduleDocument(kind="cron", expressions=("0 * * * *",))
    document = a_dag("hourly", TaskDocument("a"), schedule=schedule, catchup="none", overlap="skip")
    row = {"dag_id": "hourly", "run_after": now, "logical_date": now, "last_run_after": now}
    with database.begin() as connection:
        install(connection, document, now=now)
        schedules.store_missed(connection, [row | {"slots": 1, "reason": "overlap"}], now=now)
    moment = "2026-01-15T12:00:00Z"
    assert admin.json("/api/v2/dags/hourly/missedTimes") == {
        "missed_times": [
            {
                "run_after": moment,
                "last_run_after": moment,
                "logical_date": moment,
                "times": 1,
                "reason": "overlap",
                "noticed_at": moment,
            }
        ]
    }
    details = admin.json("/api/v2/dags/hourly/details")
    assert (details["catchup"], details["catchup_policy"], details["overlap_policy"]) == (False, "none", "skip")
    assert admin.get("/api/v2/dags/nightly/missedTimes").status_code == 404
