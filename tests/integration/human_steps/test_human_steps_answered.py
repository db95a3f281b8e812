"""Human steps through a scheduler with real task processes: asked once, answered once, no slot held meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.waiting import wait_until
from tests.support.working import Working, working

from treadle.document import DagDocument, TaskDocument
from treadle_metadata import human_steps
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError, InvalidRequestError
from treadle_metadata.queries.task_instances import get_instance
from treadle_metadata.settings import Settings

ASKING = """
import os, signal
from pathlib import Path
from treadle import DAG, ApprovalOperator, HITLOperator, EmptyOperator, Param

HOME = Path({home!r})

def tell(context):
    with (HOME / "told").open("a") as file:
        file.write(context["ti"].task_id)
    die(context)

def late(context):
    if (HOME / "told").exists():
        die(context)

def die(context):
    if (HOME / "die").exists():
        (HOME / "die").unlink()
        os.kill(os.getpid(), signal.SIGKILL)

with DAG("one"):
    {operator}(task_id="ask", subject="Release {{{{ run_id[:6] }}}}?", {arguments}) >> EmptyOperator(task_id="after")
"""


@contextmanager
def asking(
    database: Database, settings: Settings, operator: str, arguments: str, retries: int = 0
) -> Iterator[Working]:
    """A scheduler with a DAG whose task asks, and waits."""
    quick = replace(settings, database_url=database.url, heartbeat_seconds=0.2)
    tasks = (
        TaskDocument("ask", operator=operator, retries=retries, retry_delay_seconds=0, can_skip=True),
        TaskDocument("after", operator="EmptyOperator", is_empty=True, upstream=("ask",)),
    )
    with working(database, quick) as one:
        one.install(
            DagDocument("one", tasks=tasks),
            ASKING.format(home=str(settings.home), operator=operator, arguments=arguments),
        )
        one.trigger("one")
        wait_until(lambda: states(one)["ask"] == "up_for_reschedule", 30)
        yield one


def states(one: Working) -> dict[str, str]:
    found = one.select("SELECT task_id, state FROM task_instance")
    return {"ask": "", **{row["task_id"]: row["state"] for row in found}}


def respond(one: Working, chosen: list[str], given: dict[str, Any] | None = None, by: str = "ann") -> Any:
    run = one.select("SELECT run_id FROM dag_run")[0]["run_id"]
    with one.database.begin() as connection:
        instance = get_instance(connection, "one", run, "ask")
        return human_steps.respond(connection, instance, chosen, given or {}, by=by, now=datetime.now(UTC))


def test_an_answer_ends_the_wait_once_and_a_late_one_is_told_who_was_first(
    own_database: Database, settings: Settings
) -> None:
    arguments = 'options=["yes", "no"], params={"days": Param(3, type="integer")}, notifiers=[tell]'
    with asking(own_database, settings, "HITLOperator", arguments) as one:
        (row,) = one.select("SELECT try_number, attempt_id FROM task_instance WHERE task_id = 'ask'")
        assert (row["try_number"], row["attempt_id"]) == (0, None)
        assert (settings.home / "told").read_text() == "ask"
        for chosen, given, said in (
            (["maybe"], {}, "no option"),
            (["yes", "no"], {}, "takes one option"),
            ([], {}, "must be chosen"),
            (["yes"], {"hours": 1}, "has no param"),
            (["yes"], {"days": "many"}, "days"),
        ):
            with pytest.raises(InvalidRequestError, match=said):
                respond(one, chosen, given)
        respond(one, ["yes"], {"days": 5})
        with pytest.raises(ConflictError, match=r"answered by ann at .*\(yes\)"):
            respond(one, ["no"], by="bob")
        wait_until(one.is_over, 30)
        assert states(one) == {"ask": "success", "after": "success"}
        value = one.select("SELECT value FROM xcom WHERE key = 'return_value'")[0]["value"]
        assert '"chosen_options":["yes"]' in value
        assert '"params_input":{"days":5}' in value
        assert '"name":"ann"' in value
        assert (settings.home / "told").read_text() == "ask"
        assert [row["outcome"] for row in one.select("SELECT outcome FROM task_attempt ORDER BY queued_at")] == [
            "suspended",
            "success",
        ]


def test_a_worker_that_dies_after_it_asked_or_after_the_answer_makes_nobody_answer_twice(
    own_database: Database, settings: Settings
) -> None:
    (settings.home / "die").touch()
    arguments = 'options=["yes"], notifiers=[tell], pre_execute=late'
    with asking(own_database, settings, "HITLOperator", arguments, retries=2) as one:
        assert (settings.home / "told").read_text() == "ask"
        assert one.select("SELECT outcome FROM task_attempt WHERE signal = 9") == [{"outcome": "failed"}]
        (settings.home / "die").touch()
        respond(one, ["yes"])
        wait_until(one.is_over, 30)
        assert states(one) == {"ask": "success", "after": "success"}
        assert len(one.select("SELECT FROM task_attempt WHERE signal = 9")) == 2
        assert one.select("SELECT try_number, answered_by FROM human_step") == [{"try_number": 1, "answered_by": "ann"}]
        assert (settings.home / "told").read_text() == "ask"


def test_an_answer_between_the_last_look_and_the_end_of_the_attempt_is_not_missed(
    own_database: Database, settings: Settings
) -> None:
    """The notifier, which is called in between, waits until somebody has answered."""
    quick = replace(settings, database_url=own_database.url, heartbeat_seconds=0.2)
    source = ASKING.replace(
        'file.write(context["ti"].task_id)', "import time\n    while not (HOME / 'go').exists(): time.sleep(0.01)"
    )
    document = DagDocument(
        "one",
        tasks=(
            TaskDocument("ask", operator="HITLOperator"),
            TaskDocument("after", operator="EmptyOperator", is_empty=True, upstream=("ask",)),
        ),
    )
    with working(own_database, quick) as one:
        arguments = 'options=["yes"], notifiers=[tell]'
        one.install(document, source.format(home=str(settings.home), operator="HITLOperator", arguments=arguments))
        one.trigger("one")
        wait_until((settings.home / "told").exists, 30)
        respond(one, ["yes"])
        assert states(one)["ask"] == "running"
        (settings.home / "go").touch()
        wait_until(one.is_over, 30)
        assert states(one) == {"ask": "success", "after": "success"}
