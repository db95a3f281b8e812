"""What the built-in sensors look at: clocks, calendars, commands, databases, HTTP endpoints, assets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.unit.runtime.attempts import workload

from treadle import DAG, Asset, BaseSensor, DagError, Metadata, task
from treadle.errors import ConnectionFormatError
from treadle.http_calls import address
from treadle.runtime.dag_test_result import TaskResult
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, run_attempt
from treadle.sensors import (
    AssetSensor,
    BashSensor,
    DateTimeSensor,
    DayOfWeekSensor,
    HttpSensor,
    SqlSensor,
    TimeDeltaSensor,
    TimeSensor,
    WaitSensor,
)

SUNDAY = {"logical_date": "2024-03-10T01:02:03+00:00"}


def outcome(kind: type[BaseSensor], *, zone: str = "UTC", run: dict[str, Any] | None = None, **arguments: Any) -> str:
    """How one attempt ends that would look again in an hour."""
    with DAG("d", start_date=datetime(2024, 1, 1, tzinfo=ZoneInfo(zone))) as dag:
        kind(task_id="look", mode="reschedule", poke_interval=3600, **arguments)
    found = run_attempt(dag, "look", workload(**(run or {})), LocalSupervisor({}, {}), Limits())
    return found.outcome if found.error is None else found.error["message"]


def judged(sensor: Callable[[], Any], **given: Any) -> TaskResult:
    """How a sensor ends in ``dag.test()`` that is skipped if it is not true at once."""
    with DAG("d") as dag:
        sensor()
    return dag.test(**given).tasks[-1]


@pytest.mark.parametrize(
    ("kind", "arguments", "run", "expected"),
    [
        (DateTimeSensor, {"target_time": "2024-01-01T00:00:00"}, {}, "success"),
        (DateTimeSensor, {"target_time": datetime(2999, 1, 1, tzinfo=UTC)}, {}, "suspended"),
        (DateTimeSensor, {"target_time": "{{ logical_date }}"}, {}, "success"),
        (TimeSensor, {"target_time": time(23, 59)}, {}, "success"),
        (TimeSensor, {"target_time": time(0, 0)}, {"run_after": "2999-01-01T00:00:00+00:00"}, "suspended"),
        (TimeDeltaSensor, {"delta": timedelta(days=1)}, {}, "success"),
        (TimeDeltaSensor, {"delta": timedelta(days=400_000)}, {}, "suspended"),
        (WaitSensor, {"time_to_wait": 0}, {}, "success"),
        (WaitSensor, {"time_to_wait": 60}, {}, "suspended"),
        (DayOfWeekSensor, {"week_day": "sunday", "use_task_logical_date": True}, SUNDAY, "success"),
        (
            DayOfWeekSensor,
            {"week_day": ["Monday"], "use_task_logical_date": True},
            SUNDAY,
            "suspended",
        ),
    ],
)
def test_sensors_of_time_look_at_the_clock_and_at_the_run(
    kind: type[BaseSensor], arguments: dict[str, Any], run: dict[str, Any], expected: str
) -> None:
    assert outcome(kind, run=run, **arguments) == expected


def test_the_zone_of_the_dag_decides_what_day_and_what_time_it_is() -> None:
    saturday: dict[str, Any] = {"week_day": "Saturday", "use_task_logical_date": True, "run": SUNDAY}
    assert outcome(DayOfWeekSensor, zone="America/New_York", **saturday) == "success"
    with DAG("d", start_date=datetime(2024, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo"))) as dag:
        sensor = TimeSensor(task_id="look", target_time=time(6, 0))
    run = type("Run", (), {"run_after": datetime(2024, 3, 9, 20, tzinfo=UTC)})
    assert sensor.target({"dag_run": run, "dag": dag}) == datetime(2024, 3, 9, 21, tzinfo=UTC)
    with pytest.raises(DagError, match="did you mean 'MONDAY'"), DAG("e"):
        DayOfWeekSensor(task_id="look", week_day="Mondai")


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("exit 0", {}, "success"),
        ("exit 3", {}, "suspended"),
        ("exit 3", {"retry_exit_code": 3}, "suspended"),
        ("echo no; exit 4", {"retry_exit_code": 3}, "the command ended with exit code 4; its last line was 'no'"),
        ("test $DAY = 2024-03-10", {"env": {"DAY": "{{ ds }}"}}, "success"),
    ],
)
def test_a_command_says_by_its_exit_code_whether_it_is_time(
    command: str, arguments: dict[str, Any], expected: str
) -> None:
    assert outcome(BashSensor, bash_command=command, **arguments) == expected


@pytest.mark.parametrize(
    ("sql", "arguments", "state"),
    [
        ("SELECT 1", {}, "success"),
        ("SELECT 0", {}, "skipped"),
        ("SELECT NULL", {}, "skipped"),
        ("SELECT '0'", {}, "skipped"),
        ("SELECT 1 WHERE false", {}, "skipped"),
        ("SELECT 1 WHERE false", {"fail_on_empty": True}, "failed"),
        ("SELECT 0", {"success": lambda value: value == 0}, "success"),
        ("SELECT 7", {"failure": lambda value: value > 5}, "failed"),
        ("SELECT 0, 1", {"selector": lambda row: row[1]}, "success"),
        ("SELECT ? = '2024'", {"parameters": ["2024"]}, "success"),
    ],
)
def test_a_query_says_by_its_first_value_whether_it_is_time(sql: str, arguments: dict[str, Any], state: str) -> None:
    def sensor() -> None:
        SqlSensor(task_id="look", conn_id="db", sql=sql, timeout=0, soft_fail=True, **arguments)

    assert judged(sensor, connections={"db": {"conn_type": "sqlite"}}).state == state


class Endpoint(BaseHTTPRequestHandler):
    """Answers with the status that its path names, and with what it was asked."""

    def do_GET(self) -> None:
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/200/after")
            self.end_headers()
            return
        self.send_response(int(self.path.split("/")[1].partition("?")[0]))
        self.end_headers()
        self.wfile.write(f"{self.path} {self.headers.get('Authorization')}".encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def endpoint() -> Iterator[dict[str, Any]]:
    """A server, as a connection."""
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield {"conn_type": "http", "host": "127.0.0.1", "port": server.server_port, "password": "secret"}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("path", "arguments", "state"),
    [
        ("/200", {}, "success"),
        ("/404", {}, "skipped"),
        ("/503", {}, "failed"),
        ("/503", {"response_error_codes_allowlist": ["503"]}, "skipped"),
        ("/moved", {}, "success"),
        ("/200", {"response_check": lambda response: response.text == "/200?day=2024 Bearer secret",
                  "request_params": {"day": "2024"}}, "success"),
        ("/200", {"response_check": lambda response, ds: ds in response.text}, "skipped"),
        ("/moved", {"response_check": lambda response: response.text.endswith("None")}, "success"),
        ("/moved", {"headers": {"authorization": "Bearer mine"},
                    "response_check": lambda response: response.text.endswith("None")}, "success"),
        ("/200", {"headers": {"authorization": "Bearer mine"},
                  "response_check": lambda response: response.text.endswith("Bearer mine")}, "success"),
    ],
)  # fmt: skip
def test_an_endpoint_says_by_its_status_and_the_check_whether_it_is_time(
    path: str, arguments: dict[str, Any], state: str
) -> None:
    def sensor() -> None:
        HttpSensor(task_id="look", http_conn_id="web", endpoint=path, timeout=0, soft_fail=True, **arguments)

    with endpoint() as connection:
        assert judged(sensor, connections={"web": connection}).state == state


def test_a_log_in_is_sent_to_the_host_of_its_connection_only() -> None:
    from_uri = type("Named", (), {"host": "api.example", "schema": "https", "conn_type": "http", "port": None})
    from_uri.conn_id = "web"  # type: ignore[attr-defined]
    assert address(from_uri, "v1/x") == "https://api.example/v1/x"  # type: ignore[arg-type]
    for endpoint_, said in (("https://evil.example/x", "another host"), ("file:///etc/passwd", "no http")):
        with pytest.raises(ConnectionFormatError, match=said):
            address(from_uri, endpoint_)  # type: ignore[arg-type]


def test_an_asset_sensor_takes_the_first_event_of_its_time_that_fits() -> None:
    orders = Asset("orders")

    def sensor(**arguments: Any) -> Callable[[], None]:
        def made() -> None:
            @task(outlets=[orders])
            def load() -> Iterator[Metadata]:
                yield Metadata(orders, {"rows": 3})

            load() >> AssetSensor(task_id="look", asset=orders, timeout=0, soft_fail=True, **arguments)

        return made

    now = datetime.now(UTC)
    found = judged(sensor(since=now - timedelta(seconds=5)))
    assert (found.state, found.value) == ("success", {"rows": 3})
    assert judged(sensor(since=now + timedelta(hours=1))).state == "skipped"
    assert judged(sensor(since="2024-01-01", event_check=lambda event: event.extra["rows"] > 3)).state == "skipped"
    assert judged(sensor(since="2024-01-01", partition_key="eu")).state == "skipped"
