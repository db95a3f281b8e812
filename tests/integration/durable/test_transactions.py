"""``@task.transaction``: what a task writes and what it hands on commit together, once, whenever the task dies."""

from __future__ import annotations

from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest
from bench.targets import target
from tests.support.durable import charges, running, state
from tests.support.waiting import wait_until

from treadle import DAG, step, task
from treadle.errors import NotInTaskError
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

SOURCE = """
from treadle import Asset

@task.step
def effect(number):
    note(f"effect {{number}}")

with DAG("one"):
    @task.transaction(conn_id="target", retries=5, retry_delay=0, outlets=[Asset("table")])
    def pay(number, transaction, ti=None, outlet_events=None):
        effect(1)
        transaction.execute("INSERT INTO written VALUES (%s)", (number,))
        {middle}
        ti.xcom_push("more", {{"rows": 1}})
        outlet_events[Asset("table")].extra["rows"] = 1
        return ("wrote", number)
    pay(7)
"""

# Dies once before the commit, once right after it, as it logs what the function returned.
DIES = """
if ti.try_number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if ti.try_number == 2:
            type(ti.task.log).info = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_row_is_written_once_and_its_result_handed_on_whenever_the_task_dies(
    own_database: Database, settings: Settings
) -> None:
    """Killed before the commit, and again between the commit and the report of it."""
    with (
        target(own_database, settings) as owner,
        running(own_database, settings, SOURCE.format(middle=DIES.strip())) as one,
    ):
        wait_until(one.is_over, 30)
        assert state(one) == "success"
        assert owner.rows("SELECT number FROM written") == [(7,)]
        outcomes = one.select("SELECT outcome, signal FROM task_attempt ORDER BY try_number")
        assert [(row["outcome"], row["signal"]) for row in outcomes] == [
            ("failed", 9),
            ("failed", 9),
            ("success", None),
        ]
        pushed = {row["key"]: row["value"] for row in one.select("SELECT key, value FROM xcom")}
        assert pushed == {"return_value": '{"$type":"tuple","$value":["wrote",7]}', "more": '{"rows":1}'}
        events = one.select("SELECT extra FROM asset_event")
        assert [row["extra"] for row in events] == [{"rows": 1}]
        # A step's record commits with the transaction or not at all: the first attempt's was rolled back.
        assert charges(settings) == [["effect", "1"], ["effect", "1"]]
        assert one.select("SELECT FROM durable_step") == []
        assert owner.rows("SELECT count(*) FROM treadle_inbox") == [(1,)]


def test_where_the_role_may_commit_the_end_too_a_task_that_dies_after_it_has_succeeded_at_once(
    own_database: Database, settings: Settings
) -> None:
    """Killed before the commit: tried again. Killed after it: no try is charged, though no retry is left."""
    source = SOURCE.format(middle=DIES.strip())
    with (
        target(own_database, settings, one_commit=True) as owner,
        running(own_database, settings, source, retries=1) as one,
    ):
        wait_until(one.is_over, 30)
        assert state(one) == "success"
        assert owner.rows("SELECT number FROM written") == [(7,)]
        outcomes = one.select("SELECT outcome, signal, committed FROM task_attempt ORDER BY try_number")
        assert [tuple(row.values()) for row in outcomes] == [("failed", 9, None), ("success", 9, None)]
        pushed = {row["key"]: row["value"] for row in one.select("SELECT key, value FROM xcom")}
        assert pushed == {"return_value": '{"$type":"tuple","$value":["wrote",7]}', "more": '{"rows":1}'}
        assert [row["extra"] for row in one.select("SELECT extra FROM asset_event")] == [{"rows": 1}]
        assert [row["name"] for row in one.select("SELECT name FROM durable_step")] == ["effect"]
        assert owner.rows("SELECT to_regclass('treadle_inbox')") == [(None,)]


def test_an_attempt_that_is_over_cannot_commit(own_database: Database, settings: Settings) -> None:
    """Marked meanwhile, which its worker has yet to hear: what it wrote is rolled back."""
    waiting = "transaction.execute('SELECT pg_advisory_lock(77)')"
    with (
        target(own_database, settings, one_commit=True) as owner,
        psycopg.connect(owner.url, autocommit=True) as other,
    ):
        other.execute("SELECT pg_advisory_lock(77)")
        with running(own_database, settings, SOURCE.format(middle=waiting), retries=0) as one:
            waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            wait_until(lambda: other.execute(waits).fetchone() == (1,), 20)
            other.execute("UPDATE task_instance SET state = 'restarting'")
            other.execute("SELECT pg_advisory_unlock(77)")
            over = "SELECT error->>'message' AS message FROM task_attempt WHERE outcome = 'failed'"
            wait_until(lambda: one.select(over), 20)
            assert "is over: nothing that it wrote is committed" in one.select(over)[0]["message"]
            assert owner.rows("SELECT number FROM written") == []


@pytest.mark.parametrize(
    "call",
    [
        "SELECT treadle_commit(%(id)s, %(instance)s, %(month)s, 'no proof', '{{}}')",
        "SELECT treadle_commit(%(other)s, %(instance)s, %(month)s, %(proof)s, '{{}}')",
    ],
)
def test_who_cannot_prove_to_be_an_attempt_notes_nothing_for_it(
    own_database: Database, settings: Settings, call: LiteralString
) -> None:
    middle = "signal.pause()"
    with (
        target(own_database, settings, one_commit=True) as owner,
        running(own_database, settings, SOURCE.format(middle=middle), retries=0) as one,
    ):
        wait_until(lambda: one.select("SELECT FROM durable_journal"), 20)
        attempt = one.select("SELECT attempt_id, task_instance_id, month FROM task_attempt")[0]
        proof = "SELECT encode(sha256(convert_to(secret || %(id)s || secret, 'UTF8')), 'hex') AS p FROM commit_secret"
        other = str(uuid4())
        given = {"id": attempt["attempt_id"], "instance": attempt["task_instance_id"], "month": attempt["month"]}
        given |= {"other": other, "proof": one.select(proof, id=str(attempt["attempt_id"]))[0]["p"]}
        with psycopg.connect(owner.url) as connection:
            connection.execute(f"SET ROLE {owner.name}".encode())
            assert connection.execute(call.replace("{{}}", "{}").encode(), given).fetchone() == (False,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT secret FROM commit_secret")


@pytest.mark.parametrize(
    ("middle", "message"),
    [
        ("raise ValueError('no')", "no"),
        ("transaction.commit()", "Explicit commit"),
        ("step.sleep('x', 1)", "cannot wait within a transaction"),
        ("transaction.execute('SELECT * FROM public.dag_run')", "permission denied"),
    ],
)
def test_what_fails_within_a_transaction_leaves_nothing(
    own_database: Database, settings: Settings, middle: str, message: str
) -> None:
    source = SOURCE.format(middle=middle)
    with target(own_database, settings) as owner, running(own_database, settings, source, retries=0) as one:
        wait_until(one.is_over, 30)
        error = one.select("SELECT error FROM task_attempt")[0]["error"]
        assert message in error["message"]
        assert owner.rows("SELECT number FROM written") == []
        assert owner.rows("SELECT FROM treadle_inbox") == []


def test_a_connection_of_another_type_is_refused_with_its_name() -> None:
    with DAG("one") as dag:

        @task.transaction(conn_id="lake")
        def write(transaction: object) -> None:
            del transaction

        write()
    result = dag.test(connections={"lake": "s3://bucket"})
    assert "needs a connection of type postgres, this one is of type s3" in result.tasks[0].message
    with pytest.raises(NotInTaskError):
        _ = step.idempotency_key
