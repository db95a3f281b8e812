"""What the pages of the UI ask for: each endpoint's answer, of real runs."""

from __future__ import annotations

from datetime import timedelta

from fastapi import FastAPI
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements
from tests.support.web import Client, session_of

from treadle.document import TaskDocument
from treadle_metadata import processes
from treadle_metadata.accounts import create_account
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.rights import roles
from treadle_metadata.settings import Settings


def test_who_looks_is_told_what_they_may_do(admin: Client) -> None:
    me = admin.json("/ui/me")
    assert (me["username"], me["role"], me["timezone"]) == ("admin", "Admin", "UTC")
    assert {"read DAGs", "edit DAGs", "manage accounts"} <= set(me["permissions"])


def test_the_first_page_counts_what_there_is(admin: Client, sales: str) -> None:
    home = admin.json("/ui/home")
    assert home["runs"] == {"queued": 0, "running": 0, "failed": 0, "success": 1}
    assert home["missing_daemons"] == ["scheduler", "dag-processor"]
    assert (home["dags"]["all"], home["dags"]["unpaused"]) == (2, 2)
    assert [pool["name"] for pool in home["pools"]] == ["default_pool"]
    assert (home["import_error_count"], home["open_human_steps"]) == (0, 0)


def test_the_first_page_shows_pools_and_daemons_to_those_who_may_read_them(
    app: FastAPI, anyone: Client, sales: str, database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        roles.set_role(connection, "Reader", ["read DAGs"], now=clock.now())
        for username, role in (("reader", "Reader"), ("viewer", "Viewer"), ("op", "Op")):
            create_account(connection, username, "correct horse battery", role, now=clock.now())
        processes.register(connection, "scheduler", clock.now(), 60)
    seen = {}
    for username in ("reader", "viewer", "op"):
        anyone.token = session_of(database, username, clock)
        home = anyone.json("/ui/home")
        seen[username] = (len(home["pools"]), len(home["daemons"]), home["missing_daemons"])
    assert seen == {
        "reader": (0, 0, ["dag-processor"]),
        "viewer": (1, 0, ["dag-processor"]),
        "op": (1, 1, ["dag-processor"]),
    }


def test_the_list_of_dags_has_last_runs_and_finds_by_words_tags_and_owners(admin: Client, sales: str) -> None:
    listed = admin.json("/ui/dags")
    assert [dag["dag_id"] for dag in listed["dags"]] == ["reports", "sales"]
    assert [run["run_id"] for run in listed["dags"][1]["recent_runs"]] == ["one"]
    for query in ("search=ELLs", "tags=money", "owners=bob", "last_run_state=success", "search=sal"):
        found = admin.json(f"/ui/dags?{query}")
        assert [dag["dag_id"] for dag in found["dags"]] == ["sales"], query
    for query in (
        "search=%25",
        "running=true",
        "broken=true",
        "favorites=true",
        "paused=true",
        "last_run_state=failed",
    ):
        assert admin.json(f"/ui/dags?{query}")["dags"] == [], query


def test_the_list_of_dags_is_walked_by_cursor(admin: Client, sales: str) -> None:
    first = admin.json("/ui/dags?limit=1")
    second = admin.json("/ui/dags", params={"limit": 1, "cursor": first["next_cursor"]})
    assert [page["dags"][0]["dag_id"] for page in (first, second)] == ["reports", "sales"]
    assert second["next_cursor"] is None


def test_a_favourite_is_of_who_marked_it(admin: Client, sales: str) -> None:
    assert admin.request("PUT", "/ui/favorites/sales").status_code == 204
    assert admin.request("PUT", "/ui/favorites/sales").status_code == 204
    assert [dag["dag_id"] for dag in admin.json("/ui/dags?favorites=true")["dags"]] == ["sales"]
    counts = admin.json("/ui/dags/counts")
    assert (counts["favorites"], counts["all"], counts["tags"], counts["owners"]) == (1, 2, ["money"], ["bob"])
    assert admin.delete("/ui/favorites/sales").status_code == 204
    assert admin.json(sales)["is_favorite"] is False
    assert admin.request("PUT", "/ui/favorites/salse").status_code == 404


def test_the_head_of_a_dag_tells_its_schedule_and_limits(admin: Client, sales: str) -> None:
    head = admin.json(sales)
    assert (head["version_number"], head["is_backfillable"], head["max_active_runs"]) == (1, True, 16)
    assert (head["running_runs"], head["params"], head["warnings"], head["import_error"]) == (0, {}, [], None)


def test_the_runs_of_a_backfill_take_no_place_of_the_dags_own_limit(admin: Client, sales: str) -> None:
    dates = {"dag_id": "sales", "from_date": "2026-01-05", "to_date": "2026-01-07"}
    assert admin.post("/api/v2/backfills", json=dates).status_code == 200
    assert admin.json("/api/v2/dags/sales/dagRuns?state=queued")["total_entries"] == 72
    assert admin.json(sales)["queued_runs"] == 0


def test_the_grid_has_groups_before_what_is_in_them(admin: Client, sales: str) -> None:
    grid = admin.json(f"{sales}/grid")
    assert [(row["id"], row["kind"], row["parent"], row["depth"]) for row in grid["rows"]] == [
        ("extract", "task", None, 0),
        ("clean", "group", None, 0),
        ("clean.rows", "task", "clean", 1),
        ("clean.deep", "group", "clean", 1),
        ("clean.deep.keys", "task", "clean.deep", 2),
        ("load", "task", None, 0),
    ]
    assert [row["label"] for row in grid["rows"]][2:5] == ["rows", "deep", "keys"]
    (run,) = grid["runs"]
    assert run["states"] == ["success"] * 6
    assert run["counts"] == {"clean": {"success": 2}, "clean.deep": {"success": 1}}


def test_the_grid_counts_a_mapped_task_by_state_and_shows_it_by_the_most_telling(
    admin: Client, weather: str, database: Database
) -> None:
    with database.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE task_instance SET state = 'scheduled' WHERE task_id = 'clean' AND map_index = 1"
        )
    (run,) = admin.json("/ui/dags/weather/grid")["runs"]
    assert run["states"] == ["none", "scheduled"]
    assert run["counts"] == {"clean": {"none": 2, "scheduled": 1}}


def test_the_grid_shows_tasks_that_only_older_runs_have(admin: Client, sales: str, database: Database) -> None:
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE task_instance SET task_id = 'gone' WHERE task_id = 'load'")
    grid = admin.json(f"{sales}/grid")
    assert [row["id"] for row in grid["rows"] if row["is_removed"]] == ["gone"]
    assert grid["runs"][0]["states"][-2:] == [None, "success"]


def test_the_grid_is_read_in_pages_of_runs_and_by_run(admin: Client, sales: str, scheduler: TestScheduler) -> None:
    scheduler.trigger("sales", run_id="two")
    first = admin.json(f"{sales}/grid?limit=1")
    second = admin.json(f"{sales}/grid", params={"limit": 1, "cursor": first["next_cursor"]})
    assert [page["runs"][0]["run_id"] for page in (first, second)] == ["two", "one"]
    assert [run["run_id"] for run in admin.json(f"{sales}/grid?run_id=one")["runs"]] == ["one"]


def test_the_grid_is_looked_at_from_any_moment_of_the_past(
    admin: Client, sales: str, scheduler: TestScheduler, clock: ManualClock
) -> None:
    clock.advance(timedelta(hours=1))
    scheduler.trigger("sales", run_id="two")
    moment = clock.now()
    for query, found in (
        ({"until": (moment + timedelta(seconds=1)).isoformat()}, ["two", "one"]),
        ({"until": moment.isoformat()}, ["one"]),
        # A run of which the live stream tells is not for a grid that ends before it.
        ({"until": moment.isoformat(), "run_id": "two"}, []),
        ({"until": "2001-01-01"}, []),
    ):
        assert [run["run_id"] for run in admin.json(f"{sales}/grid", params=query)["runs"]] == found, query
    assert admin.get(f"{sales}/grid?until=yesterday").status_code == 422


def test_the_graph_has_edges_labels_and_assets(admin: Client, sales: str) -> None:
    graph = admin.json(f"{sales}/graph")
    kinds = {node["id"]: node["kind"] for node in graph["nodes"]}
    assert kinds["clean"] == "group"
    assert kinds["asset:raw"] == kinds["uri:file:///x"] == "asset"
    edges = {(edge["source"], edge["target"]): (edge["kind"], edge["label"]) for edge in graph["edges"]}
    assert edges["extract", "load"] == ("task", "at once")
    assert edges["extract", "asset:raw"] == ("outlet", None)
    assert edges["uri:file:///x", "load"] == ("inlet", None)
    reports = admin.json("/ui/dags/reports/graph")
    assert {(edge["source"], edge["kind"]) for edge in reports["edges"]} == {
        ("asset:raw", "schedule"),
        ("asset:other", "schedule"),
    }


def test_the_states_of_a_run_are_told_by_task_and_group(admin: Client, sales: str) -> None:
    states = admin.json(f"{sales}/runs/one/states")
    assert states["state"] == "success"
    assert {task: cell["state"] for task, cell in states["tasks"].items()}["clean"] == "success"
    assert states["tasks"]["clean"]["counts"] == {"success": 2}


def test_the_gantt_chart_has_every_attempt_and_the_critical_path(admin: Client, sales: str) -> None:
    gantt = admin.json(f"{sales}/runs/one/gantt")
    assert {bar["task_id"]: bar["try_number"] for bar in gantt["bars"]} == {
        "extract": 1,
        "clean.rows": 1,
        "clean.deep.keys": 1,
        "load": 1,
    }
    assert gantt["critical_path"][0] == "extract"
    assert gantt["is_truncated"] is False


def test_the_calendar_has_outcomes_by_day_of_the_zone_and_runs_planned(
    admin: Client, sales: str, scheduler: TestScheduler, clock: ManualClock
) -> None:
    plan = {
        "next_run_at": clock.now() + timedelta(hours=1),
        "next_interval_start": clock.now() + timedelta(hours=1),
        "next_interval_end": clock.now() + timedelta(hours=1),
    }
    scheduler.set_dag("sales", **plan)
    calendar = admin.json(f"{sales}/calendar?since=2026-01-15&until=2026-01-16&timezone=Europe/Zurich")
    days = {day["day"]: (day["counts"], day["planned"]) for day in calendar["days"]}
    # 12:00 UTC is 13:00 there: ten hourly runs are left of the 15th.
    assert days == {"2026-01-15": ({"success": 1}, 10), "2026-01-16": ({}, 24)}
    scheduler.set_dag("sales", is_paused=True)
    assert admin.json(f"{sales}/calendar?since=2026-01-15&until=2026-01-16")["planned"] == []
    assert admin.get(f"{sales}/calendar?since=2026-01-15&until=2026-01-14").status_code == 422
    assert admin.get(f"{sales}/calendar?since=2026-01-15&until=2026-01-16&timezone=Mars").status_code == 422


def test_durations_tell_median_and_p95_of_each_task(admin: Client, sales: str) -> None:
    durations = admin.json(f"{sales}/durations?runs=10")
    assert [run["run_id"] for run in durations["runs"]] == ["one"]
    assert {task["task_id"]: task["median_seconds"] for task in durations["tasks"]}["extract"] == 0
    points = admin.json(f"{sales}/durations/extract")["points"]
    assert [(one["run_id"], one["instances"]) for one in points] == [("one", 1)]


def test_runs_of_all_dags_are_found_by_state_words_and_time(admin: Client, sales: str, clock: ManualClock) -> None:
    later = (clock.now() + timedelta(minutes=1)).isoformat()
    for query, found in (
        ({}, ["one"]),
        ({"state": "success"}, ["one"]),
        ({"state": "failed"}, []),
        ({"search": "SAL"}, ["one"]),
        ({"search": "nothing"}, []),
        ({"ended_since": clock.now().isoformat()}, ["one"]),
        ({"ended_since": later}, []),
        ({"until": clock.now().isoformat()}, []),
    ):
        listed = admin.json("/ui/runs", params=query)
        assert [run["run_id"] for run in listed["runs"]] == found, query


def test_a_run_has_its_neighbours_counts_and_why(admin: Client, sales: str, scheduler: TestScheduler) -> None:
    scheduler.trigger("sales", run_id="two")
    one, two = (admin.json(f"{sales}/runs/{run}") for run in ("one", "two"))
    assert (one["next_run_id"], two["previous_run_id"]) == ("two", "one")
    assert (one["counts"], one["why"]) == ({"success": 4}, None)
    assert two["why"]["sentence"]


def test_an_instance_has_attempts_neighbours_and_why(admin: Client, sales: str, weather: str) -> None:
    page = admin.json(f"{sales}/runs/one/tasks/clean.rows")
    assert [attempt["outcome"] for attempt in page["attempts"]] == ["success"]
    assert [(one["task_id"], one["state"]) for one in page["upstream"]] == [("extract", "success")]
    assert [one["task_id"] for one in page["downstream"]] == ["clean.deep.keys"]
    assert page["why"] is None
    waiting = admin.json("/ui/dags/weather/runs/first/tasks/fetch")
    assert waiting["why"]["sentence"]


def test_an_instance_has_the_links_that_its_newest_try_reported_and_tells_of_those_to_come(
    admin: Client, database: Database, settings: Settings, clock: ManualClock
) -> None:
    reported = [
        {"outcome": "failed", "links": {"Job": "https://jobs.test/1", "Trap": "javascript:alert(1)"}},
        {"outcome": "success", "links": {"Job": "https://jobs.test/2", "Of this one": "http://x.test"}},
    ]
    scheduler = TestScheduler(database, settings, clock, lambda workload: reported[workload["try_number"] - 1])
    task = TaskDocument("submit", retries=1, retry_delay_seconds=60, extra_links=("Job", "Bill"))
    scheduler.install(a_dag("jobs", task))
    scheduler.trigger("jobs", run_id="one")
    page, links = "/ui/dags/jobs/runs/one/tasks/submit", "/api/v2/dags/jobs/dagRuns/one/taskInstances/submit/links"
    scheduler.beats()
    assert admin.json(page)["links"] == [
        {"name": "Job", "url": "https://jobs.test/1"},
        {"name": "Bill", "url": None},
    ]
    clock.advance(timedelta(minutes=2))
    scheduler.beats()
    assert admin.json(page)["links"] == [
        {"name": "Job", "url": "https://jobs.test/2"},
        {"name": "Bill", "url": None},
        {"name": "Of this one", "url": "http://x.test"},
    ]
    assert admin.json(links)["extra_links"] == {"Job": "https://jobs.test/2", "Of this one": "http://x.test"}
    assert admin.json(f"{links}?try_number=1") == {"extra_links": {"Job": "https://jobs.test/1"}, "total_entries": 1}
    assert admin.json("/api/v2/dags/jobs/tasks/submit")["extra_links"] == ["Job", "Bill"]


def test_the_instances_of_a_mapped_task_are_walked(admin: Client, weather: str) -> None:
    url = "/ui/dags/weather/runs/first/tasks/clean/instances"
    first = admin.json(f"{url}?limit=2")
    second = admin.json(url, params={"limit": 2, "cursor": first["next_cursor"]})
    assert [one["map_index"] for page in (first, second) for one in page["instances"]] == [0, 1, 2]
    assert first["counts"] == {"none": 3}
    assert admin.json(f"{url}?state=failed")["instances"] == []


def test_the_code_and_its_versions_are_shown(admin: Client, sales: str) -> None:
    code = admin.json(f"{sales}/code")
    assert (code["version_number"], code["file"], len(code["versions"])) == (1, "sales.py", 1)
    assert admin.json(f"{sales}/code/diff?old_version=1&new_version=1")["lines"] == []


def test_the_asset_graph_tells_who_waits_for_what(admin: Client, sales: str) -> None:
    graph = admin.json("/ui/assets/graph")
    edges = {(edge["asset"], edge["dag_id"], edge["role"], edge["task_id"]) for edge in graph["edges"]}
    assert ("asset:raw", "sales", "outlet", "extract") in edges
    assert ("asset:raw", "reports", "schedule", None) in edges
    assert {(one["dag_id"], one["asset"]) for one in graph["waiting"]} == {
        ("reports", "asset:raw"),
        ("reports", "asset:other"),
    }


def test_the_timeline_has_runs_of_the_window_and_the_load_of_pools(
    admin: Client, sales: str, clock: ManualClock, database: Database
) -> None:
    since, until = clock.now() - timedelta(hours=1), clock.now() + timedelta(hours=1)
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE task_instance SET ended_at = ended_at + interval '30 minutes'")
    window = {"since": since.isoformat(), "until": until.isoformat(), "parts": 4}
    timeline = admin.json("/ui/timeline", params=window)
    assert [run["run_id"] for run in timeline["runs"]] == ["one"]
    (pool,) = timeline["pools"]
    assert (pool["pool"], pool["slots"], pool["held"]) == ("default_pool", 128, [0, 0, 4, 0])
    assert admin.get("/ui/timeline", params=window | {"until": since.isoformat()}).status_code == 422


def test_the_forecast_merges_schedules_and_says_how_far_it_reaches(
    admin: Client, sales: str, scheduler: TestScheduler, clock: ManualClock
) -> None:
    at = clock.now() + timedelta(hours=1)
    scheduler.set_dag("sales", next_run_at=at, next_interval_start=at, next_interval_end=at)
    scheduler.set_dag("reports", next_run_at=at + timedelta(minutes=30))
    whole = admin.json("/ui/forecast?hours=3")
    assert [run["dag_id"] for run in whole["runs"]] == ["sales", "reports", "sales", "sales"]
    assert [hour["runs"] for hour in whole["hours"]] == [2, 1, 1]
    assert whole["known_until"] == whole["until"]
    cut = admin.json("/ui/forecast?hours=3&limit=1")
    assert len(cut["runs"]) == 1
    assert cut["known_until"] < cut["until"]


def test_audit_and_inbox_are_empty_at_first(admin: Client, sales: str) -> None:
    assert admin.json("/ui/audit?dag_id=sales")["events"] == []
    assert admin.json("/ui/humanSteps") == {"steps": [], "open": 0, "is_truncated": False}
    assert admin.json("/ui/humanSteps?state=answered")["steps"] == []


STATEMENTS = {
    "/ui/me": 0,
    "/ui/home": 9,
    "/ui/dags": 2,
    "/ui/dags/counts": 2,
    "/ui/dags/sales": 2,
    "/ui/dags/sales/grid": 3,
    "/ui/dags/sales/graph": 1,
    "/ui/dags/sales/runs/one/states": 2,
    "/ui/dags/sales/runs/one/gantt": 2,
    "/ui/dags/sales/runs/one": 2,
    "/ui/dags/sales/durations": 2,
    "/ui/dags/sales/durations/extract": 2,
    "/ui/dags/sales/calendar?since=2026-01-01&until=2026-02-01": 2,
    "/ui/runs": 1,
    "/ui/assets/graph": 3,
    "/ui/audit": 1,
}


def test_a_page_asks_few_statements(admin: Client, sales: str, database: Database) -> None:
    for url, most in STATEMENTS.items():
        admin.json(url)
        with recorded_statements(database) as seen:
            admin.json(url)
        asked = [sql for sql, _ in seen if "login_session" not in sql]
        assert len(asked) <= most, (url, [" ".join(sql.split())[:60] for sql in asked])
