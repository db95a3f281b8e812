"""How long tasks take: what a file says, what is known of the past, what is left, and which attempts fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle_scheduler.simulation.durations import Durations, TaskFacts, read_file
from treadle_scheduler.simulation.errors import SimulationError

FILE = """
seconds = 30

[dags.sales]
seconds = 45

[dags.sales.tasks]
extract = 120
"group.load" = { seconds = 300, failure_rate = 0.05 }
list_files = { items = 12 }

[dags.report.tasks]
wait_for_sales = { seconds = 10, waits_for = "sales" }
"""


def read(tmp_path: Path, text: str) -> Durations:
    """Read a file with this text."""
    file = tmp_path / "durations.toml"
    file.write_text(text)
    return read_file(file)


def test_a_file_names_tasks_dags_and_the_rest(tmp_path: Path) -> None:
    durations = read(tmp_path, FILE)
    assert durations.seconds_of("sales", "extract") == 120
    assert durations.seconds_of("sales", "list_files") == 45
    assert durations.seconds_of("report", "print") == 30
    assert durations.facts("sales", "group.load") == TaskFacts(300, failure_rate=0.05)
    assert durations.facts("report", "wait_for_sales").waits_for == "sales"
    assert durations.items_of("sales", "list_files", "return_value") == 12


def test_the_file_goes_before_the_past_and_the_past_before_the_default() -> None:
    past = {("sales", "extract"): 7.0, ("sales", "load"): 8.0}
    durations = Durations(seconds=60, past=past, tasks={("sales", "extract"): TaskFacts(1)})
    assert [durations.seconds_of("sales", task) for task in ("extract", "load", "other")] == [1, 8, 60]


def test_results_have_one_item_if_nothing_is_known() -> None:
    durations = Durations(lengths={("sales", "list", "return_value"): 4})
    assert durations.items_of("sales", "list", "return_value") == 4
    assert durations.items_of("sales", "list", "other") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seconds = ", "cannot be read"),
        ("second = 1", "'second' at the top is not known; known are dags, seconds"),
        ("[dags.sales]\ntask = 1", "'task' of DAG 'sales' is not known"),
        ("[dags.sales.tasks]\na = -1", "dags.sales.tasks.a is -1, expected a number, 0 or more"),
        ("[dags.sales.tasks]\na = true", "dags.sales.tasks.a is True"),
        ("[dags.sales.tasks]\na = inf", "expected a number"),
        ("[dags.sales.tasks]\na = { second = 1 }", "'second' of dags.sales.tasks.a is not known"),
        ("[dags.sales.tasks]\na = { failure_rate = 2 }", "failure_rate is 2, expected 0 to 1"),
        ("[dags.sales.tasks]\na = { items = 1.5 }", "items is 1.5, expected a whole number"),
        ("[dags.sales.tasks]\na = { waits_for = 3 }", "waits_for is 3, expected the id of a DAG"),
        ("dags = 3", "dags is 3, expected a table"),
    ],
)
def test_what_a_file_must_not_say_is_told_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SimulationError, match=r"durations\.toml") as caught:
        read(tmp_path, text)
    assert words in str(caught.value)


def test_the_same_attempts_fail_for_the_same_seed_and_about_as_many_as_asked_for() -> None:
    durations = Durations(failure_rate=0.2, seed=3)
    attempts = [("sales", "load", f"run{number}", -1, 1) for number in range(2000)]
    failed = [durations.fails(*one) for one in attempts]
    assert failed == [durations.fails(*one) for one in attempts]
    assert 340 < sum(failed) < 460
    assert failed != [Durations(failure_rate=0.2, seed=4).fails(*one) for one in attempts]


def test_no_attempt_fails_unless_it_is_asked_for_and_each_does_at_a_rate_of_one() -> None:
    assert not any(Durations().fails("d", "t", f"run{number}", -1, 1) for number in range(100))
    assert all(Durations(failure_rate=1).fails("d", "t", f"run{number}", -1, 1) for number in range(100))
