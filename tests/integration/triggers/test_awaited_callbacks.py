"""Asynchronous callbacks of deadlines: in a triggerer if one lives, on an executor if not, and begun at most once."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta

from tests.support.deferring import CRYPTO, KEY, HandTriggerer, triggers_of
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.triggering import site
from tests.support.waiting import wait_until

from treadle.document import DeadlineDocument, TaskDocument
from treadle_metadata import awaited_callbacks
from treadle_metadata.clock import ManualClock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

SOURCE = """
from datetime import timedelta
from pathlib import Path
from treadle import DAG, AsyncCallback, DeadlineAlert, DeadlineReference, Variable
from treadle.operators import EmptyOperator

async def tell(path, context):
    import logging
    logging.getLogger("treadle.task").info("told of %s", context["deadline"]["alert_name"])
    Path(path).write_text(Variable.get("greeting") + " " + context["dag_run"].run_id)

with DAG("d", deadline=DeadlineAlert(
    reference=DeadlineReference.DAGRUN_QUEUED_AT, interval=timedelta(seconds=1),
    callback=AsyncCallback(tell, kwargs={"path": PATH}), name="soon",
)):
    EmptyOperator(task_id="a")
"""


def late(scheduler: TestScheduler) -> None:
    """Make a run whose deadline is over."""
    alert = DeadlineDocument("dagrun_queued_at", 1.0, name="soon", callback="x.tell", is_async=True)
    scheduler.install(a_dag("d", TaskDocument("a", pool="nowhere"), deadlines=(alert,)), file="d.py")
    scheduler.trigger("d")
    scheduler.beats()


def callbacks(scheduler: TestScheduler) -> list[str]:
    return [row["state"] for row in scheduler._select("SELECT state FROM callback ORDER BY id")]


def test_without_a_triggerer_an_executor_runs_it(database: Database, settings: Settings, clock: ManualClock) -> None:
    scheduler = TestScheduler(database, replace(settings, fernet_key=KEY), clock)
    late(scheduler)
    clock.advance(timedelta(seconds=2))
    scheduler.beats()
    assert [one["callback"]["event"] for one in scheduler.executor.taken if "callback" in one] == ["deadline"]
    assert triggers_of(database) == []


def test_it_is_begun_once_whoever_takes_it_up(database: Database, settings: Settings, clock: ManualClock) -> None:
    scheduler = TestScheduler(database, replace(settings, fernet_key=KEY), clock)
    first, second = HandTriggerer(database, clock, pid=1), HandTriggerer(database, clock, pid=2)
    first.beat()
    late(scheduler)
    clock.advance(timedelta(seconds=2))
    scheduler.beats()
    (trigger,) = first.beat()

    def begin(one: HandTriggerer) -> bool:
        with database.begin() as connection:
            told = {"hostname": f"host {one.pid}", "limit": 300}
            known = (one.known, trigger["id"], "start_callback", told)
            return bool(awaited_callbacks.answer(connection, *known, crypto=CRYPTO, now=clock.now()))

    assert begin(first)
    assert callbacks(scheduler) == ["running"]
    clock.advance(timedelta(seconds=31))
    assert len(second.beat()) == 1
    assert not begin(second)
    assert second.fire({"id": trigger["id"], "kind": "failed", "error": "it had begun"}) == {trigger["id"]}
    assert callbacks(scheduler) == ["failed"]
    assert triggers_of(database) == []


def test_a_triggerer_awaits_it_with_its_context_its_questions_and_its_log(
    database: Database, settings: Settings
) -> None:
    with site(database, settings) as here, here.triggerer():
        scheduler = TestScheduler(database, here.settings, SystemClock())  # type: ignore[arg-type]
        path = here.settings.home / "told"
        source = SOURCE.replace("PATH", repr(str(path)))
        (here.settings.path("dags_folder") / "d.py").write_text(source)
        here.change(
            "INSERT INTO variable (key, value, team) VALUES ('greeting', %(value)s, '')", value=CRYPTO.encrypt("hello")
        )
        wait_until(lambda: here.select("SELECT FROM process WHERE kind = 'triggerer'"))
        late(scheduler)
        digest = hashlib.sha256(source.encode()).hexdigest()
        here.change("INSERT INTO dag_code VALUES (%(hash)s, %(source)s, now())", hash=digest, source=source)
        here.change("UPDATE dag_version SET file_hash = %(hash)s", hash=digest)

        def is_over() -> bool:
            scheduler.beats()
            return callbacks(scheduler) in (["success"], ["failed"])

        wait_until(is_over, 20)
        (row,) = here.select("SELECT state, error, log_path FROM callback")
        assert (row["state"], row["error"]) == ("success", None)
        (run,) = here.select("SELECT run_id FROM dag_run")
        assert path.read_text() == f"hello {run['run_id']}"
        assert "told of soon" in (here.settings.path("logs_folder") / row["log_path"]).read_text()
