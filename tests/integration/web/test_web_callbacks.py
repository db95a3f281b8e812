"""Callbacks and deadlines of a run over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.web import Client

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute

RUN = "/dagRuns/first"


def test_a_run_without_any_has_empty_lists(admin: Client, weather: str) -> None:
    assert admin.json(f"{weather}{RUN}/callbacks") == {"callbacks": [], "total_entries": 0}
    assert admin.json(f"{weather}{RUN}/deadlines") == {"deadlines": [], "total_entries": 0}
    assert admin.get(f"{weather}/dagRuns/second/callbacks").status_code == 404
    assert admin.get(f"{weather}/dagRuns/second/deadlines").status_code == 404


def test_callbacks_are_listed_with_their_log(
    admin: Client, weather: str, database: Database, clock: ManualClock, settings: Settings
) -> None:
    with database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO callback (id, dag_run_id, event, state, version_id, task_instance_id, facts, created_at,
                                  error, log_path)
            SELECT 7, run.id, 'run_failure', 'failed', run.version_id, instance.id, '{"reason": "timed_out"}',
                   %(now)s, '{"message": "boom"}', 'weather/first/callbacks/x.jsonl'
            FROM dag_run AS run JOIN task_instance AS instance ON instance.dag_run_id = run.id AND task_id = 'fetch'
            """,
            {"now": clock.now()},
        )
        execute(
            connection,
            "INSERT INTO callback (id, dag_run_id, event, version_id, created_at)"
            " SELECT 8, id, 'run_success', 1, %(now)s FROM dag_run",
            {"now": clock.now()},
        )
    path = Path(settings.path("logs_folder")) / "weather/first/callbacks/x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"time": "t", "text": "calling"}) + "\n")
    first, second = admin.json(f"{weather}{RUN}/callbacks")["callbacks"]
    assert (first["event"], first["state"], first["reason"]) == ("run_failure", "failed", "timed_out")
    assert (first["task_id"], first["map_index"], first["error"]) == ("fetch", -1, {"message": "boom"})
    assert (second["state"], second["task_id"], second["end_date"]) == ("pending", None, None)
    log = admin.json(f"{weather}{RUN}/callbacks/7/log")
    assert log["content"] == [{"timestamp": "t", "event": "calling"}]
    assert "not handed over" in admin.json(f"{weather}{RUN}/callbacks/8/log")["message"]
    assert admin.get(f"{weather}/dagRuns/second/callbacks/7/log").status_code == 404
    assert admin.get(f"{weather}{RUN}/callbacks/9/log").status_code == 404


def test_deadlines_are_listed(admin: Client, weather: str, database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO deadline (dag_run_id, clear_number, position, name, reference, base_at, due_at, missed_at)
            SELECT id, 0, n, 'alert ' || n, 'dagrun_queued_at', %(now)s, %(now)s,
                   CASE n WHEN 0 THEN %(now)s::timestamptz END
            FROM dag_run, generate_series(0, 1) AS n
            """,
            {"now": clock.now()},
        )
    answer = admin.json(f"{weather}{RUN}/deadlines")
    assert answer["total_entries"] == 2
    assert [(one["alert_name"], one["missed"]) for one in answer["deadlines"]] == [
        ("alert 0", True),
        ("alert 1", False),
    ]
