"""What somebody who may only read learns of a task that failed: why, and who did what to its DAG (case E17)."""

from __future__ import annotations

import json

import httpx
from tests.integration.rest.conftest import Service
from tests.integration.web.conftest import add_account
from tests.support.web import session_of

from treadle_metadata.accounts import Role
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database

SELL = "/api/v2/dags/bakery/dagRuns/order/taskInstances/sell"


def test_a_reader_sees_why_a_task_failed_and_what_was_done_to_its_dag(
    service: Service, database: Database, clock: ManualClock
) -> None:
    admin = {"Authorization": f"Bearer {service.token}"}
    reader = {"Authorization": f"Bearer {session_of(database, add_account(database, Role.VIEWER, clock), clock)}"}
    with httpx.Client(base_url=service.url, timeout=30) as client:
        order = {"dag_run_id": "order", "logical_date": None, "conf": {"burns": "sell"}}
        client.post("/api/v2/dags/bakery/dagRuns", json=order, headers=admin)
        service.scheduler.beats()
        why = client.get(f"{SELL}/why", headers=reader)
        assert (why.status_code, why.json()["reason"], "burnt" in why.json()["sentence"]) == (200, "finished", True)
        unmet = client.get(f"{SELL}/dependencies", headers=reader).json()
        assert unmet == {"dependencies": []}
        tries = client.get(f"{SELL}/tries", headers=reader).json()["task_instances"]
        assert [one["error"]["message"] for one in tries] == ["burnt"]
        events = client.get("/api/v2/eventLogs?dag_id=bakery", headers=reader)
        assert [one["event"] for one in events.json()["event_logs"]] == ["trigger_dag_run"]
        assert client.delete("/api/v2/dags/bakery", headers=reader).status_code == 403


def test_the_audit_log_is_walked_by_cursor(service: Service) -> None:
    headers = {"Authorization": f"Bearer {service.token}"}
    with httpx.Client(base_url=f"{service.url}/api/v2", headers=headers, timeout=30) as client:
        for number in range(5):
            client.post("/variables", json={"key": f"v{number}", "value": number})
        seen, cursor = [], ""
        while cursor is not None:
            page = client.get("/eventLogs", params={"limit": 2, "cursor": cursor, "order_by": "-when"}).json()
            seen += [json.loads(one["extra"])["name"] for one in page["event_logs"]]
            cursor = page["next_cursor"]
            # What comes meanwhile is in front of the walk and not in its way.
            client.delete("/variables/none")
    assert seen == ["v4", "v3", "v2", "v1", "v0"]


def test_the_document_and_the_settings_are_shown_without_secrets(service: Service) -> None:
    admin = {"Authorization": f"Bearer {service.token}"}
    with httpx.Client(base_url=f"{service.url}/api/v2", headers=admin, timeout=30) as client:
        assert "/api/v2/dags" in client.get("/openapi.json").json()["paths"]
        (section,) = client.get("/config").json()["sections"]
        shown = {one["key"]: one["value"] for one in section["options"]}
        assert (shown["parallelism"], shown["fernet_key"], shown["jwt_secret"]) == ("32", "< hidden >", "< hidden >")
        assert service.scheduler.context.settings.jwt_secret not in client.get("/config").text
        assert client.get("/config/section/treadle/option/paralelism").json()["detail"].endswith("'parallelism'?")
        assert client.get("/providers").json()["providers"][0]["package_name"] == "treadle"
        (plugin,) = (one for one in client.get("/plugins").json()["plugins"] if one["name"] == "treadle")
        assert {"local", "celery", "kubernetes", "transactional"} <= set(plugin["executors"])
        assert client.get("/plugins?limit=0").json()["plugins"] == []
        assert client.get("/jobs?is_alive=true").json() == {"jobs": [], "total_entries": 0}
        assert client.get("/dags?is_favorite=true").json()["total_entries"] == 0
        made = client.post("/dags/bakery/dagRuns", json={"conf": {"loafs": 3, "gift": True}}).json()
        assert (made["conf"], len(made["conf_warnings"])) == ({"loafs": 3, "gift": True}, 1)
        assert "'loafs' in the conf is no param of DAG 'bakery'; did you mean 'loaves'?" in made["conf_warnings"][0]
        refused = client.post("/dags/bakery/dagRuns", content="{", headers={"Content-Type": "application/json"}).json()
        assert refused["detail"].startswith("the body is no JSON: Expecting property name")
        refused = client.post("/dags/bakery/dagRuns", json={"cnof": {}}).json()
        assert refused["detail"].startswith("unknown field 'cnof'; did you mean 'conf'? (expected conf, dag_run_id, ")
        assert client.post("/dags/bakery/favorite").status_code == 204
        assert client.get("/dags?is_favorite=true").json()["total_entries"] == 1
