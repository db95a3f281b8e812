"""Callbacks, notifiers and deadlines in a whole installation: who is told what, and how often (A47, A57, A60)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.installed import Installed, run_path
from tests.support.waiting import wait_until

SOURCE = """
import os, signal, time
from datetime import timedelta
from treadle import (
    DAG, AsyncCallback, BaseNotifier, DeadlineAlert, DeadlineReference, ExceptionRetryPolicy, RetryAction, RetryRule,
    SyncCallback, Variable, WebhookNotifier, task,
)

def note(text):
    with open({notes!r}, "a") as file:
        file.write(f"{{text}}\\n")

def tell(what):
    def told(context):
        ti, error = context.get("ti"), context.get("exception")
        note(f"{{what}} {{ti.task_id if ti else '-'}} {{ti.try_number if ti else '-'}} {{type(error).__name__}}")
    return told

TOLD = {{f"on_{{one}}_callback": tell(one) for one in ("failure", "retry", "success", "skipped")}}

with DAG("telling", default_args=TOLD | {{"retries": 1, "retry_delay": 0}},
         on_success_callback=tell("run succeeded"),
         on_failure_callback=[
             lambda context: note(f"run {{context['reason']}} {{context['ti'].task_id}} {{Variable.get('v', 'none')}}"),
             lambda context: 1 / 0,
             WebhookNotifier(url={url!r}),
         ]):

    @task
    def killed():
        os.kill(os.getpid(), signal.SIGKILL)

    @task(retries=0, execution_timeout=timedelta(seconds=1))
    def deaf():
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        time.sleep(60)

    @task
    def good():
        pass

    @task(retry_policy=ExceptionRetryPolicy([RetryRule(KeyError, RetryAction.FAIL, reason="it is not there")]))
    def refused():
        raise KeyError("x")

    killed(), deaf(), good(), refused()


class Quiet(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, text, **named):
        super().__init__(**named)
        self.text = text

    async def async_notify(self, context):
        note(self.text)

async def awaited(number, context):
    note(f"awaited {{number}} {{context['deadline']['alert_name']}} {{'ti' in context}}")

def called(number):
    note(f"called {{number}}")

def alert(callback, **named):
    return DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, timedelta(seconds=1), callback, **named)

with DAG("late", deadline=[
    alert(AsyncCallback(awaited, kwargs={{"number": 1}}), name="first"),
    alert(SyncCallback(called, kwargs={{"number": 2}})),
    alert(AsyncCallback(Quiet, kwargs={{"text": "quiet {{{{ dag_run.run_type }}}} {{{{ deadline.reference }}}}"}})),
    DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, timedelta(hours=1), SyncCallback(called, kwargs={{"number": 3}})),
]):

    @task
    def slow():
        time.sleep(2)

    slow()

with DAG("dying", on_success_callback=lambda context: (note("dying"), os.kill(os.getpid(), signal.SIGKILL))):

    @task
    def ok():
        pass

    ok()
"""


class Hook(BaseHTTPRequestHandler):
    """Keeps what is posted to it."""

    posted: list[Any]

    def do_POST(self) -> None:
        self.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def posted() -> Iterator[tuple[str, list[Any]]]:
    """The address of a web hook, and what was posted to it."""
    Hook.posted = []
    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook", Hook.posted
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def notes(installed: Installed, posted: tuple[str, list[Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("told") / "notes"
    path.touch()
    installed.add("telling.py", SOURCE.format(notes=str(path), url=posted[0]))
    return path


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def callbacks(installed: Installed, dag_id: str) -> list[Any]:
    return installed.select(
        "SELECT callback.* FROM callback JOIN dag_run AS run ON run.id = dag_run_id WHERE dag_id = %(dag_id)s"
        " ORDER BY callback.id",
        dag_id=dag_id,
    )


def test_each_end_is_told_once_whoever_has_to_tell_it(
    installed: Installed, notes: Path, posted: tuple[str, list[Any]], client: httpx.Client
) -> None:
    """Case A47: also of attempts that were killed and could not tell themselves."""
    run_id = installed.run_of("telling")
    assert installed.end_of("telling", run_id) == "failed"
    wait_until(lambda: all(one["state"] in ("success", "failed") for one in callbacks(installed, "telling")), 20)
    wait_until(
        lambda: any(one["event"] == "run_failure" and one["ended_at"] for one in callbacks(installed, "telling"))
    )
    told = [line for line in lines(notes) if not line.startswith(("run", "quiet", "called", "awaited", "dying"))]
    assert sorted(told) == [
        "failure deaf 1 TaskTimeout",
        "failure killed 2 AttemptLost",
        "failure refused 1 KeyError",
        "retry killed 1 AttemptLost",
        "success good 1 NoneType",
    ]
    (run_line,) = [line for line in lines(notes) if line.startswith("run")]
    assert run_line.startswith("run task_failure ")
    assert run_line.endswith(" none")
    assert len(posted[1]) == 1
    assert run_id in posted[1][0]["text"]
    (attempt,) = installed.attempts("telling")["refused"]
    assert attempt["error"]["retry_reason"] == "it is not there"
    (of_run,) = [one for one in callbacks(installed, "telling") if one["event"] == "run_failure"]
    assert of_run["state"] == "failed"
    assert of_run["error"]["type"] == "ZeroDivisionError"
    shown = client.get(f"{run_path('telling', run_id)}/callbacks").json()
    assert shown["total_entries"] == 4
    log = client.get(f"{run_path('telling', run_id)}/callbacks/{of_run['id']}/log")
    assert "ZeroDivisionError" in log.text
    assert "The webhook answered 200" in log.text


def test_a_run_that_is_late_is_told_of_by_each_deadline_once(
    installed: Installed, notes: Path, client: httpx.Client
) -> None:
    run_id = installed.run_of("late")
    assert installed.end_of("late", run_id) == "success"
    wait_until(lambda: [one["state"] for one in callbacks(installed, "late")] == ["success"] * 3, 20)
    told = [line for line in lines(notes) if line.startswith(("quiet", "called", "awaited"))]
    assert sorted(told) == ["awaited 1 first False", "called 2", "quiet manual dagrun_queued_at"]
    found = client.get(f"{run_path('late', run_id)}/deadlines").json()
    assert [one["missed_at"] is not None for one in found["deadlines"]] == [True] * 3
    listed = installed.run_command("deadlines", "list", "late", "--output", "json")
    assert listed.returncode == 0, listed.stderr
    assert {one["run_id"] for one in json.loads(listed.stdout)} == {run_id}


def test_a_callback_whose_process_dies_is_failed_and_not_called_again(installed: Installed, notes: Path) -> None:
    run_id = installed.run_of("dying")
    assert installed.end_of("dying", run_id) == "success"
    wait_until(lambda: [one["state"] for one in callbacks(installed, "dying")] == ["failed"], 20)
    assert lines(notes).count("dying") == 1
    (one,) = callbacks(installed, "dying")
    assert one["error"]["kind"] == "out_of_memory"
    assert installed.is_healthy()
