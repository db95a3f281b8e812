"""The real loop in virtual time: when runs start and end, what waits, what is missed, and what never ends."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.simulating import at, daily, simulate, spans

from treadle.document import (
    DagDocument,
    DeadlineDocument,
    ExpandArgument,
    ExpandDocument,
    ScheduleDocument,
    TaskDocument,
)
from treadle_metadata.connection import Database
from treadle_scheduler.simulation.durations import Durations, TaskFacts
from treadle_scheduler.simulation.errors import SimulationError
from treadle_scheduler.simulation.report import executor_usage, pool_usage

A, B = TaskDocument("a"), TaskDocument("b", upstream=("a",))


def test_a_run_starts_when_it_is_due_and_its_tasks_follow_one_another(database: Database) -> None:
    durations = Durations(tasks={("sales", "a"): TaskFacts(600), ("sales", "b"): TaskFacts(90)})
    result = simulate(database, daily("sales", A, B, hour=3), days=2, durations=durations)
    assert [(run.due_at, run.started_at, run.ended_at, run.state) for run in result.runs] == [
        (at(3), at(3), at(3, 11.5), "success"),
        (at(27), at(27), at(27, 11.5), "success"),
    ]
    assert [(one.task_id, one.started_at) for one in result.tasks[:2]] == [("a", at(3)), ("b", at(3, 10))]


def test_what_was_due_before_counts_as_done_even_with_catchup(database: Database) -> None:
    result = simulate(database, daily("old", A, catchup=True, start_date="2016-01-01T00:00:00+00:00"))
    assert [run.due_at for run in result.runs] == [at(0)]


def test_an_interval_schedule_is_due_at_the_end_of_its_interval(database: Database) -> None:
    schedule = ScheduleDocument(kind="cron", expressions=("0 6 * * *",), style="interval")
    result = simulate(database, daily("sales", A, schedule=schedule))
    assert [run.due_at for run in result.runs] == [at(6)]


def test_a_run_due_at_the_end_is_not_made(database: Database) -> None:
    assert len(simulate(database, daily("sales", A), days=1).runs) == 1


def test_runs_that_begin_in_the_period_are_played_out_after_it(database: Database) -> None:
    result = simulate(database, daily("long", A, B, hour=23), seconds=40 * 3600)
    assert [(run.started_at, run.ended_at) for run in result.runs] == [(at(23), at(103))]


def test_a_month_is_crossed_with_its_partitions(database: Database) -> None:
    result = simulate(database, daily("sales", A), days=60)
    assert [run.state for run in result.runs] == ["success"] * 60


def test_a_full_pool_makes_the_second_run_wait(database: Database) -> None:
    one, two = (daily(name, TaskDocument("load", pool="warehouse")) for name in ("one", "two"))
    result = simulate(database, one, two, pools={"warehouse": 1}, seconds=3600)
    assert [run.started_at for run in result.runs] == [at(0), at(1)]
    (warehouse,) = pool_usage(result)
    assert (warehouse.peak, warehouse.steps) == (1, ((at(0), 1), (at(2), 0)))


def test_executor_slots_bound_what_runs_at_once(database: Database) -> None:
    wide = daily("wide", *(TaskDocument(f"t{number}") for number in range(6)))
    result = simulate(database, wide, parallelism=2, seconds=60)
    assert executor_usage(result).peak == 2
    assert result.runs[0].ended_at == at(0, 3)


def test_a_limit_of_one_run_makes_runs_follow_one_another(database: Database) -> None:
    schedule = ScheduleDocument(kind="cron", expressions=("0 * * * *",))
    hourly = daily("slow", A, schedule=schedule, catchup=True, max_active_runs=1)
    result = simulate(database, hourly, days=0.2, seconds=5400)
    assert [run.started_at for run in result.runs] == [at(0), at(1.5), at(3), at(4.5), at(6)]
    assert result.runs[-1].ended_at == at(7.5)


def test_retries_play_out_with_their_delay(database: Database) -> None:
    flaky = daily("flaky", TaskDocument("a", retries=2, retry_delay_seconds=300))
    durations = Durations(tasks={("flaky", "a"): TaskFacts(60, failure_rate=1.0)})
    result = simulate(database, flaky, durations=durations)
    assert spans(result) == {"a": (0, 1), "a#2": (6, 7), "a#3": (12, 13)}
    assert result.runs[0].state == "failed"


def test_a_task_over_its_time_fails_then(database: Database) -> None:
    result = simulate(database, daily("sales", TaskDocument("a", execution_timeout_seconds=30)), seconds=60)
    assert spans(result) == {"a": (0, 0.5)}
    assert result.runs[0].state == "failed"


def test_a_run_over_its_time_is_ended_and_frees_its_slots(database: Database) -> None:
    result = simulate(database, daily("sales", A, B, dagrun_timeout_seconds=600), seconds=3600)
    assert [(run.state, run.ended_at) for run in result.runs] == [("failed", at(0, 10))]
    assert executor_usage(result).steps == ((at(0), 1), (at(0, 10), 0))


def test_mapped_tasks_have_as_many_instances_as_the_file_says(database: Database) -> None:
    over_a = ExpandDocument("product", (ExpandArgument("x", task_id="a"),))
    mapped = daily("mapped", A, TaskDocument("each", upstream=("a",), expand=over_a))
    result = simulate(database, mapped, durations=Durations(tasks={("mapped", "a"): TaskFacts(60, items=3)}))
    assert set(spans(result)) == {"a", "each[0]", "each[1]", "each[2]"}


def test_a_task_that_waits_for_another_dag_ends_with_that_dags_run(database: Database) -> None:
    watching = daily("watching", TaskDocument("wait"))
    durations = Durations(seconds=600, tasks={("watching", "wait"): TaskFacts(60, waits_for="made")})
    result = simulate(database, watching, daily("made", A, B), durations=durations)
    assert spans(result)["wait"] == (0, 20)
    assert result.stuck == ()


def test_waiting_tasks_that_hold_all_slots_are_told_as_a_deadlock(database: Database) -> None:
    """15 slots, 15 waiting sensors, one producer (case B14)."""
    sensors = daily("sensors", *(TaskDocument(f"wait{number}", priority_weight=2) for number in range(15)))
    durations = Durations(
        tasks={("sensors", f"wait{number}"): TaskFacts(60, waits_for="producer") for number in range(15)}
    )
    result = simulate(database, sensors, daily("producer", TaskDocument("make")), durations=durations, parallelism=15)
    assert {run.dag_id for run in result.runs if run.ended_at is None} == {"sensors", "producer"}
    assert result.stuck[0].startswith("Slot deadlock: 15 running attempts of sensors.wait0, ")
    assert "wait for runs of producer, whose make cannot start for want of a slot" in result.stuck[0]
    assert "parallelism of 15" in result.stuck[1]


def test_a_task_that_can_never_run_is_told_with_its_reason(database: Database) -> None:
    greedy = daily("greedy", TaskDocument("a", pool="small", pool_slots=5))
    result = simulate(database, greedy, pools={"small": 2})
    (sentence,) = result.stuck
    assert "it asks for 5 slots of pool 'small', which has 2" in sentence


def test_a_missed_deadline_is_told_with_its_run_and_its_time(database: Database) -> None:
    deadline = DeadlineDocument("dagrun_queued_at", 600, name="in ten minutes")
    result = simulate(database, daily("sales", A, B, hour=3, deadlines=(deadline,)), seconds=400)
    (missed,) = result.missed_deadlines
    assert (missed.dag_id, missed.name, missed.due_at) == ("sales", "in ten minutes", at(3, 10))
    assert result.runs[0].state == "success"


def test_dags_without_a_schedule_have_no_run(database: Database) -> None:
    assert simulate(database, DagDocument("manual", tasks=(A,))).runs == ()


def test_runs_that_take_no_time_and_make_each_other_are_an_error(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle_scheduler.simulation.driver.MOST_BEATS", 50)
    endless = daily("endless", A, schedule=ScheduleDocument(kind="continuous"), max_active_runs=1)
    with pytest.raises(SimulationError, match="give their tasks a duration"):
        simulate(database, endless, seconds=0)


def test_a_continuous_dag_runs_again_and_again(database: Database) -> None:
    schedule = ScheduleDocument(kind="continuous")
    result = simulate(database, daily("always", A, schedule=schedule, max_active_runs=1), days=0.25, seconds=3600)
    assert [run.started_at for run in result.runs] == [at(hour) for hour in range(6)]


def test_a_coarse_resolution_moves_the_end_of_a_run_by_one_step_at_most(database: Database) -> None:
    chain = [TaskDocument(f"t{number}", upstream=(f"t{number - 1}",) if number else ()) for number in range(20)]
    exact = simulate(database, daily("chain", *chain), seconds=7)
    assert exact.runs[0].ended_at == at(0) + timedelta(seconds=140)


def test_a_coarse_resolution_does_not_add_up_over_a_chain(database: Database) -> None:
    chain = [TaskDocument(f"t{number}", upstream=(f"t{number - 1}",) if number else ()) for number in range(20)]
    coarse = simulate(database, daily("chain", *chain), seconds=7, resolution=60)
    assert coarse.runs[0].ended_at == at(0, 3)
