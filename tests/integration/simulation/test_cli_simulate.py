"""``treadle dags simulate`` on a real installation's database: what it prints, what it refuses, what it leaves."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler
from tests.support.simulating import daily
from tests.support.waiting import wait_until

from treadle.document import AssetCondition, AssetDocument, DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.simulation.scratch import PREFIX

PERIOD = ("--from", "2026-01-15", "--to", "2026-01-16")


@pytest.fixture
def line(settings: Settings) -> CommandLine:
    """Commands on the test's installation."""
    return CommandLine({"TREADLE_HOME": str(settings.home), "TREADLE_DATABASE_URL": settings.database_url})


@pytest.fixture
def scheduler(database: Database, settings: Settings) -> TestScheduler:
    """An installation with DAGs sales (at 3:00), report (at 4:00) and a paused one."""
    made = TestScheduler(database, settings, ManualClock(datetime.now(UTC)))
    made.install(daily("sales", TaskDocument("extract"), TaskDocument("load", upstream=("extract",)), hour=3))
    made.install(daily("report", TaskDocument("print"), hour=4))
    made.install(daily("asleep", TaskDocument("a")), is_paused=True)
    return made


@pytest.mark.usefixtures("scheduler")
def test_runs_are_listed_with_start_and_end(line: CommandLine) -> None:
    found = line.json("dags", "simulate", *PERIOD, "--show", "runs")
    assert [(run["dag_id"], run["start"], run["end"], run["state"]) for run in found] == [
        ("sales", "2026-01-15T03:00:00Z", "2026-01-15T03:02:00Z", "success"),
        ("report", "2026-01-15T04:00:00Z", "2026-01-15T04:01:00Z", "success"),
    ]


@pytest.mark.usefixtures("scheduler")
def test_the_overview_tells_what_was_left_out_and_which_hours_are_busy_and_free(line: CommandLine) -> None:
    result = line.run("dags", "simulate", *PERIOD)
    assert result.exit_code == 0, result.output
    assert "2 runs and 3 attempts due from 2026-01-15 00:00 to 2026-01-16 00:00 UTC" in result.stderr
    assert "Left out, since it is paused: asleep." in result.stderr
    assert "Pool default_pool: busiest hour 03:00 UTC (0.0 of 128 slots on average, 100% of it sales)" in result.stderr


@pytest.mark.usefixtures("scheduler")
def test_tables_for_people_tell_lengths_in_words(line: CommandLine) -> None:
    overview = line.ok("dags", "simulate", *PERIOD, "--executor-slots", "1", "--seconds", "5000", "-o", "table")
    assert " min   success" in overview
    assert "slots" in line.ok("dags", "simulate", *PERIOD, "--executor-slots", "1,2", "-o", "table")


@pytest.mark.usefixtures("scheduler")
def test_a_paused_dag_is_simulated_when_it_is_named_or_asked_for(line: CommandLine) -> None:
    named = line.json("dags", "simulate", *PERIOD, "--dag", "asleep")
    assert [run["dag_id"] for run in named["runs"]] == ["asleep"]
    everything = line.json("dags", "simulate", *PERIOD, "--with-paused")
    assert [dag["dag_id"] for dag in everything["dags"]] == ["asleep", "report", "sales"]
    assert everything["left_out"] == {}


@pytest.mark.usefixtures("scheduler")
def test_several_numbers_of_slots_are_compared(line: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "durations.toml"
    file.write_text("[dags.sales.tasks]\nextract = 7200\n")
    found = line.json(
        "dags", "simulate", *PERIOD, "--executor-slots", "1,2", "--durations", str(file), "--resolution", "0"
    )
    assert [(one["executor_slots"], one["late_starts"], one["longest_wait"]) for one in found] == [
        (1, 1, 3600.0),
        (2, 0, 0.0),
    ]


def test_an_assets_consumer_runs_when_its_producer_has_ended(line: CommandLine, scheduler: TestScheduler) -> None:
    made = TaskDocument("make", outlets=(("asset", "orders"),))
    condition = AssetCondition("asset", "orders")
    scheduler.install(daily("producer", made, hour=5, assets=(AssetDocument("orders", "s3://orders"),)))
    scheduler.install(
        DagDocument(
            "consumer", tasks=(TaskDocument("use"),), schedule=ScheduleDocument(kind="assets", condition=condition)
        )
    )
    dags = ("--dag", "producer", "--dag", "consumer")
    found = line.json("dags", "simulate", *PERIOD, *dags, "--show", "runs", "--resolution", "0")
    assert [(run["dag_id"], run["start"], run["end"]) for run in found] == [
        ("producer", "2026-01-15T05:00:00Z", "2026-01-15T05:01:00Z"),
        ("consumer", "2026-01-15T05:01:00Z", "2026-01-15T05:02:00Z"),
    ]


def test_durations_are_the_median_of_the_past_month(line: CommandLine, scheduler: TestScheduler) -> None:
    for seconds in (100, 300, 1000):
        scheduler.trigger("report")
        scheduler.beats()
        with scheduler.database.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE task_attempt SET started_at = ended_at - make_interval(secs => %(seconds)s) WHERE try_number ="
                " 1 AND started_at = ended_at",
                {"seconds": seconds},
            )
    arguments = ("dags", "simulate", *PERIOD, "--dag", "report", "--show", "runs", "--resolution", "0")
    assert line.json(*arguments)[0]["end"] == "2026-01-15T04:05:00Z"
    assert line.json(*arguments, "--percentile", "99")[0]["end"] > "2026-01-15T04:16:00Z"


def test_the_installation_is_only_read_and_no_scratch_database_is_left(
    line: CommandLine, scheduler: TestScheduler, server_url: str
) -> None:
    def everything() -> list[object]:
        with scheduler.database.begin() as connection:
            return [dict(row) for row in rows(connection, "SELECT dag.*, (SELECT count(*) FROM dag_run) FROM dag")]

    before = everything()
    line.ok("dags", "simulate", *PERIOD)
    assert everything() == before
    left = "SELECT FROM pg_database WHERE starts_with(datname, %s)"
    with psycopg.connect(server_url, autocommit=True) as connection:
        # Tests of other processes simulate on the same server; none of theirs stays for long.
        wait_until(lambda: not connection.execute(left, (PREFIX,)).fetchall(), 30)


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--from", "yesterday", "--to", "2026-01-16"), 2, "'yesterday' is not a date: expected 2026-03-01"),
        (("--from", "2026-01-16", "--to", "2026-01-15"), 1, "not after its beginning 2026-01-16T00:00:00+00:00"),
        ((*PERIOD, "--dag", "sale"), 1, "did you mean 'sales'?"),
        ((*PERIOD, "--executor-slots", "0"), 2, "0 is not a number of slots: expected 1 or more"),
        ((*PERIOD, "--executor-slots", "many"), 2, "'many' is not a number"),
        ((*PERIOD, "--durations", "nowhere.toml"), 1, "the durations file nowhere.toml cannot be read"),
    ],
)
def test_what_cannot_be_simulated_is_told_in_one_line(
    line: CommandLine, arguments: tuple[str, ...], code: int, words: str
) -> None:
    assert words in line.fails("dags", "simulate", *arguments, code=code)


def test_an_installation_of_paused_dags_says_what_to_do(line: CommandLine, scheduler: TestScheduler) -> None:
    for dag_id in ("sales", "report"):
        scheduler.set_dag(dag_id, is_paused=True)
    assert "add --with-paused" in line.fails("dags", "simulate", *PERIOD)
