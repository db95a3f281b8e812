"""``treadle dags missed``: what became no run, and why."""

from __future__ import annotations

from datetime import timedelta

from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ScheduleDocument, TaskDocument


def test_missed_times_are_listed_with_their_reasons(line: CommandLine, scheduler: TestScheduler) -> None:
    """Case A65."""
    now = scheduler.clock.now()
    schedule = ScheduleDocument(kind="cron", expressions=("0 * * * *",))
    scheduler.install(a_dag("hourly", TaskDocument("a"), schedule=schedule), next_run_at=now)
    assert (
        "No time of the schedule of DAG hourly was left out."
        in line.run("dags", "missed", "hourly", "-o", "table").output
    )
    last = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=4)
    scheduler.set_dag("hourly", last_interval_start=last, last_interval_end=last, resumed_at=last)
    scheduler.beats()
    rows = line.json("dags", "missed", "hourly")
    assert [(row["times"], row["reason"]) for row in rows] == [(1, "late")] * 3
    assert rows[0]["why"] == "nobody looked in time, and catchup does not make up for it"
    assert len(line.json("dags", "missed", "hourly", "--limit", "2")) == 2


def test_missed_times_of_an_unknown_dag_name_the_nearest_one(line: CommandLine, scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("hourly", TaskDocument("a")))
    assert "did you mean 'hourly'?" in line.fails("dags", "missed", "hurly")
