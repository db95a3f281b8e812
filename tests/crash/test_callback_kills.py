"""Kill -9 around callbacks: none is lost with its scheduler, and none that may have run is run again."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bench.documents import install
from tests.support.service import Service, service
from tests.support.waiting import wait_until

from treadle.document import DagDocument, TaskDocument
from treadle_metadata.callbacks import AT_ONCE
from treadle_metadata.connection import Database

SOURCE = """
import time
from treadle import DAG, task

def told(context):
    with open({notes!r}, "a") as file:
        file.write(context["reason"] + chr(10))
    time.sleep({seconds})

with DAG("crash", on_success_callback=told):

    @task
    def one():
        pass

    one()
"""


def started(one: Service, seconds: float) -> Service:
    """Install a DAG whose callback notes that it was called and takes ``seconds``, and start the scheduler."""
    source = SOURCE.format(notes=str(one.counts), seconds=seconds)
    (one.home / "dags" / "crash.py").write_text(source)
    document = DagDocument("crash", tasks=(TaskDocument("one", operator="PythonOperator"),), callbacks=("success",))
    with one.database.begin() as connection:
        install(connection, document, now=datetime.now(UTC), file="crash.py")
        connection.exec_driver_sql(
            "UPDATE dag_version SET file_hash = %(hash)s", {"hash": hashlib.sha256(source.encode()).hexdigest()}
        )
    one.start()
    return one


def states(one: Service) -> list[str]:
    found = one.select("SELECT state FROM callback WHERE facts <> '{}' ORDER BY id")
    return [str(row["state"]) for row in found]


@pytest.fixture
def stopped(home: Path, own_database: Database) -> Iterator[Service]:
    with service(home, own_database) as one:
        yield one


def test_a_scheduler_killed_between_a_run_s_end_and_its_callback_loses_nothing(stopped: Service) -> None:
    one = started(stopped, seconds=0)
    run = one.trigger()
    # So many others are under way that the run's own has to wait.
    with one.database.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO callback (dag_run_id, event, state, version_id, created_at, lease_until, attempt_id)"
            " SELECT %(run)s, 'run_success', 'running', 1, now(), %(until)s, gen_random_uuid()"
            " FROM generate_series(1, %(most)s)",
            {"run": run, "until": datetime.now(UTC) + timedelta(hours=1), "most": AT_ONCE},
        )
    one.wait_for_end()
    one.kill()
    assert states(one) == ["pending"]
    assert one.counts.read_text() == ""
    with one.database.begin() as connection:
        connection.exec_driver_sql("DELETE FROM callback WHERE facts = '{}'")
    one.start()
    wait_until(lambda: states(one) == ["success"], 30)
    assert one.counts.read_text() == "success\n"


@pytest.mark.parametrize(
    ("victim", "kind"), [("scheduler", "lost"), ("treadle_worker.host", "lost"), ("in order", "terminated")]
)
def test_a_callback_that_was_running_when_its_process_was_killed_is_not_run_again(
    stopped: Service, victim: str, kind: str
) -> None:
    one = started(stopped, seconds=60)
    one.trigger()
    wait_until(one.counts.read_text, 30)
    wait_until(lambda: states(one) == ["running"], 10)
    if victim == "scheduler":
        one.kill()
        one.start()
    elif victim == "in order":
        one.stop()
        one.start()
    else:
        os.kill(one.descendants(victim)[0], signal.SIGKILL)
    wait_until(lambda: states(one) == ["failed"], 30)
    (row,) = one.select("SELECT error FROM callback")
    assert row["error"]["kind"] == kind
    assert one.counts.read_text() == "success\n"
    (entry,) = one.select("SELECT event, run_id FROM audit_log")
    assert entry["event"] == "callback_failed"
