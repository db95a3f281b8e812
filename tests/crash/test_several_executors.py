"""Two executors in one scheduler: tasks run where they say, and callbacks where their run's default is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.celery_service import CeleryService, celery_service
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database

SOURCE = """
from pathlib import Path

from treadle import DAG, task

HERE = Path(__file__).parent.parent


def told(context):
    print("told of", context["dag_run"].run_id)
    (HERE / "told").touch()


with DAG("several", schedule=None, on_success_callback=told, is_paused_upon_creation=False):

    @task
    def here():
        return "here"

    @task(executor="celery", queue="far")
    def there(word):
        return word + " and there"

    there(here())
"""


@pytest.fixture
def installation(home: Path, own_database: Database) -> Iterator[CeleryService]:
    """A scheduler whose default executor is the local one, and all else but workers."""
    with celery_service(home, own_database, TREADLE_EXECUTOR="local", TREADLE_EXECUTORS="celery") as one:
        yield one


def test_tasks_run_where_they_say_and_what_keeps_one_waiting_is_told(installation: CeleryService) -> None:
    (installation.home / "dags" / "several.py").write_text(SOURCE)
    installation.start()
    installation.start_dag_processor()
    dags = "SELECT 1 FROM dag WHERE dag_id = 'several' AND is_active"
    wait_until(lambda: bool(installation.select(dags)), 40)
    installation.treadle("dags", "trigger", "several")
    why = ("tasks", "why", "several", "there")
    wait_until(lambda: "no worker takes from queue 'far'" in installation.treadle(*why), 40)
    installation.start_worker("--queues", "far")
    installation.wait_for_end()
    assert installation.run_state() == "success"
    used = installation.select("SELECT task_id, instance.executor FROM task_instance AS instance")
    assert {one["task_id"]: one["executor"] for one in used} == {"here": None, "there": "celery"}
    wait_until((installation.home / "told").exists, 20)
