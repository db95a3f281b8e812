"""Durable steps through a scheduler with real task processes: recorded once, replayed, pinned to their code."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from tests.support.durable import charges, running, state
from tests.support.waiting import wait_until

from treadle_metadata.clearing import Selection, clear
from treadle_metadata.connection import Database
from treadle_metadata.queries.steps import failures_of, steps_of
from treadle_metadata.settings import Settings

PAID = """
@task.step
def charge(number):
    note(f"{number} {step.idempotency_key}")
    if number == 8 and not (HOME / "died").exists():
        (HOME / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"receipt": number * 100, "of": (number,)}

with DAG("one"):
    @task(retries=5, retry_delay=0)
    def pay():
        receipts = [charge(number) for number in range(1, 11)]
        if not (HOME / "again").exists():
            (HOME / "again").touch()
            raise RuntimeError("all is paid, and yet it fails")
        return receipts
    pay()
"""


def test_paid_steps_are_charged_once_whenever_the_task_dies(own_database: Database, settings: Settings) -> None:
    """Case H1: killed after step 7 with the effect of step 8 done and its record missing, then failed at the end."""
    with running(own_database, settings, PAID) as one:
        wait_until(one.is_over, 30)
        assert state(one) == "success"
        asked = charges(settings)
        assert Counter(number for number, _ in asked) == {str(n): 1 + (n == 8) for n in range(1, 11)}
        assert len({key for _, key in asked}) == 10
        steps = one.select("SELECT name, kind, value FROM durable_step ORDER BY number")
        assert len(steps) == 10
        value = one.select("SELECT value FROM xcom WHERE key = 'return_value'")[0]["value"]
        assert value == "[" + ",".join(row["value"] for row in steps) + "]"
        tries = one.select("SELECT outcome FROM task_attempt ORDER BY try_number")
        assert [row["outcome"] for row in tries] == ["failed", "failed", "success"]


LARGE = """
@task.step
def fetch():
    note("fetched")
    return "Ω" * 1_000_000

with DAG("one"):
    @task(retries=1, retry_delay=0)
    def pay(ti=None):
        size = len(fetch())
        if ti.try_number == 1:
            raise RuntimeError("once more")
        return size
    pay()
"""


def test_a_value_above_a_mebibyte_is_a_blob_and_comes_back(own_database: Database, settings: Settings) -> None:
    with running(own_database, settings, LARGE, retries=1) as one:
        wait_until(one.is_over, 30)
        assert state(one) == "success"
        assert one.select("SELECT value FROM xcom")[0]["value"] == "1000000"
        assert charges(settings) == [["fetched"]]
        assert one.select("SELECT value, blob IS NOT NULL AS blob FROM durable_step") == [{"value": None, "blob": True}]


def test_clearing_a_task_begins_a_new_journal_with_other_keys(own_database: Database, settings: Settings) -> None:
    (settings.home / "died").touch()
    (settings.home / "again").touch()
    with running(own_database, settings, PAID) as one:
        wait_until(one.is_over, 30)
        with own_database.begin() as connection:
            clear(connection, Selection(dag_id="one", only_failed=False), now=datetime.now(UTC))
        one.loop.wake()
        wait_until(lambda: len(charges(settings)) == 20, 30)
        wait_until(one.is_over, 30)
        assert len({key for _, key in charges(settings)}) == 20
        assert len(one.select("SELECT FROM durable_journal WHERE discarded_at IS NULL")) == 1


FAILS = """
@task.step(retries=2, retry_delay=0.01)
def fetch(page):
    with (HOME / "tries").open("a") as file:
        file.write("x")
    tried = len((HOME / "tries").read_text())
    if tried == 1:
        raise ConnectionError("reset by peer")
    if tried == 2:
        raise ValueError("no page \\0 of this number")
    return page

with DAG("one"):
    @task(retries=5, retry_delay=0)
    def pay():
        with step("look") as look:
            if not (HOME / "looked").exists():
                (HOME / "looked").touch()
                raise OSError("blind")
        fetch(1)
    pay()
"""


def test_each_failed_try_of_a_step_is_recorded_with_its_error(own_database: Database, settings: Settings) -> None:
    """Transient ones are tried again within the attempt, others end it; the retry's step succeeds."""
    with running(own_database, settings, FAILS) as one:
        wait_until(one.is_over, 30)
        assert state(one) == "success"
        instance = one.select("SELECT id, month FROM task_instance")[0]
        with own_database.begin() as connection:
            failures = failures_of(connection, instance)
            keys = {row["name"]: row["idempotency_key"] for row in steps_of(connection, instance)}
    names = ("name", "try_number", "try", "error_type", "message", "wait_seconds")
    assert [tuple(row[name] for name in names) for row in failures] == [
        ("look", 1, 1, "OSError", "blind", None),
        ("fetch", 2, 1, "ConnectionError", "reset by peer", 0.01),
        ("fetch", 2, 2, "ValueError", "no page \\0 of this number", None),
    ]
    assert [row["idempotency_key"] for row in failures] == [keys["look"], keys["fetch"], keys["fetch"]]
