"""The example DAGs do what their texts say, run as a reader would: ``dag.test()``, without a server."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from treadle import DAG, Metadata
from treadle.collection import begin, collect
from treadle.errors import ParamError
from treadle.runtime.dag_test_result import DagTestResult
from treadle.serialization import document_of
from treadle.timetables.factory import validate

DAGS = Path(__file__).parents[3] / "dags"
NAMES = sorted(path.stem for path in DAGS.glob("*.py"))
DATE = datetime(2025, 1, 6, 6, 30, tzinfo=UTC)


def load(name: str) -> tuple[DAG, ModuleType]:
    begin()
    spec = importlib.util.spec_from_file_location(name, DAGS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (dag,) = collect(vars(module).values())
    return dag, module


@pytest.fixture(autouse=True)
def _leave_no_dag_behind() -> Iterator[None]:
    yield
    begin()


def run(name: str, folder: Path, **conf: Any) -> DagTestResult:
    dag, _ = load(name)
    return dag.test(logical_date=DATE, run_conf={"folder": str(folder), **conf})


def succeeded(name: str, folder: Path, **conf: Any) -> DagTestResult:
    result = run(name, folder, **conf)
    result.raise_if_failed()
    return result


@pytest.mark.parametrize("name", NAMES)
def test_each_file_defines_one_documented_dag_of_its_name(name: str) -> None:
    dag, _ = load(name)
    document = document_of(dag)
    assert document.dag_id == name
    assert document.tags == ("example",)
    assert document.doc_md
    assert "Teaches" in document.doc_md
    validate(document.schedule)
    assert f"[`{name}`]({name}.py)" in (DAGS / "README.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_each_example_succeeds_as_it_is(name: str, tmp_path: Path) -> None:
    assert succeeded(name, tmp_path).state == "success"


def test_no_example_splices_a_template_into_a_command() -> None:
    """Case F3: values reach commands through the environment."""
    for name in NAMES:
        dag, _ = load(name)
        for task in dag.tasks:
            command = getattr(task, "bash_command", "")
            assert "{{" not in str(command)


def test_orders_are_cleaned_stored_and_summed_up(tmp_path: Path) -> None:
    result = succeeded("orders_to_sqlite", tmp_path)
    assert result.xcoms["clean"] == {"path": str(tmp_path / "orders_clean.csv"), "read": 61, "kept": 56}
    with closing(sqlite3.connect(tmp_path / "orders.sqlite")) as database:
        (orders,) = database.execute("SELECT COUNT(*) FROM orders").fetchone()
        products = [row[0] for row in database.execute("SELECT DISTINCT product FROM revenue ORDER BY 1")]
    assert orders == 56
    assert products == ["cocoa", "coffee", "honey", "tea"]
    again = succeeded("orders_to_sqlite", tmp_path)
    assert again.xcoms["aggregate"] == result.xcoms["aggregate"]


def test_checked_orders_are_an_update_that_the_best_sellers_are_made_of(tmp_path: Path) -> None:
    (update,) = succeeded("orders_to_sqlite", tmp_path).asset_events
    assert update.extra == {"database": str(tmp_path / "orders.sqlite"), "orders": 56}
    dag, _ = load("best_sellers")
    given = [Metadata(update.asset, update.extra)]
    result = dag.test(run_conf={"folder": str(tmp_path)}, triggering_asset_events=given)
    result.raise_if_failed()
    assert sorted(result.xcoms["rank"]) == ["cocoa", "coffee", "honey", "tea"]
    assert (tmp_path / "best_sellers.txt").read_text().split() == result.xcoms["rank"]


def test_the_quality_check_stops_bad_orders(tmp_path: Path) -> None:
    dag, module = load("orders_to_sqlite")
    broken = tmp_path / "broken.csv"
    rows = (DAGS / "data" / "orders.csv").read_text().splitlines()
    broken.write_text("\n".join([*rows, *(f"{number},never,north,tea,1,4.5" for number in range(40))]))
    vars(module)["ORDERS"] = broken
    result = dag.test(logical_date=DATE, run_conf={"folder": str(tmp_path)})
    assert result.state == "failed"
    assert "rows were usable" in result.task("check").message
    assert result.task("check").tries == 1


def test_words_are_counted_by_one_instance_for_each_file(tmp_path: Path) -> None:
    result = succeeded("count_words", tmp_path)
    names = [one.rendered_map_index for one in result.instances("count")]
    assert names == ["dyeing.txt", "loom.txt", "spinning.txt"]
    assert dict(result.xcoms["merge"])["thread"] == 4
    counts = json.loads((tmp_path / "word_counts.json").read_text())
    assert counts["treadle"] == 3


def test_no_files_skip_the_count(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = run("count_words", tmp_path, texts=str(empty))
    assert {one.state for one in result.instances("count")} == {"skipped"}


def test_each_region_goes_its_own_way(tmp_path: Path) -> None:
    result = succeeded("sales_by_region", tmp_path, least=400)
    assert [one.rendered_map_index for one in result.instances("each_region.sales")] == ["north", "south", "west"]
    assert [one.state for one in result.instances("each_region.in_full")] == ["skipped", "success", "skipped"]
    lines = (tmp_path / "sales_by_region.txt").read_text().splitlines()
    assert [lines[0], lines[1].partition(",")[0], lines[2]] == ["north: little", "south: cocoa 114.4", "west: little"]


def test_a_copy_that_fails_twice_is_tried_three_times(tmp_path: Path) -> None:
    result = succeeded("archive_data", tmp_path, failures=2)
    assert result.task("copy").tries == 3
    assert Path(result.xcoms["copy"]).read_bytes() == (tmp_path / "data-20250106.zip").read_bytes()
    assert not list(tmp_path.rglob("*.part"))


def test_a_damaged_copy_is_not_tried_again(tmp_path: Path) -> None:
    dag, module = load("archive_data")
    copyfile = vars(module)["shutil"].copyfile

    def damage(source: Path, target: Path) -> None:
        copyfile(source, target)
        target.write_bytes(b"damaged")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vars(module)["shutil"], "copyfile", damage)
        result = dag.test(logical_date=DATE, run_conf={"folder": str(tmp_path)})
    assert result.task("verify").state == "failed"
    assert result.task("verify").tries == 1


@pytest.mark.parametrize("attack", ['"; touch {}; "', "$(touch {})", "`touch {}`", "{{{{ 7*7 }}}} ../../x %s {}"])
def test_a_title_full_of_shell_and_template_text_stays_text(attack: str, tmp_path: Path) -> None:
    """Case F3."""
    pwned = tmp_path / "pwned"
    title = attack.format(pwned)
    result = succeeded("regional_report", tmp_path, title=title, region="west", least=5)
    lines = (tmp_path / "report.md").read_text().splitlines()
    assert lines[0] == f"# {title}"
    assert lines[2].startswith("Region west on 2025-01-06: ")
    assert result.xcoms["write"].strip() == "3"
    assert not pwned.exists()


@pytest.mark.parametrize("conf", [{"region": "east"}, {"least": -1}, {"title": 7}])
def test_a_value_that_does_not_fit_its_schema_makes_no_run(conf: Mapping[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ParamError):
        run("regional_report", tmp_path, **conf)


def test_when_all_checks_pass_the_summary_runs_and_the_alert_does_not(tmp_path: Path) -> None:
    states = succeeded("check_files", tmp_path).states
    assert states["checks.tests_are_named"] == "skipped"
    assert (states["summary"], states["alert"], states["tidy_up"]) == ("success", "skipped", "success")
    assert not (tmp_path / "checked").exists()


def test_when_a_check_fails_the_alert_runs_and_the_summary_does_not(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "bad.py").write_text("import pytest\ndef f(:\n")
    states = run("check_files", tmp_path, checked=str(broken)).states
    assert states["checks.syntax"] == states["checks.tests_are_named"] == "failed"
    assert states["checks.line_length"] == "success"
    assert (states["summary"], states["alert"], states["tidy_up"]) == ("upstream_failed", "success", "success")
    assert not (tmp_path / "checked").exists()


def test_a_busy_supplier_is_asked_again_and_each_end_is_told(tmp_path: Path) -> None:
    followed = succeeded("told_in_time", tmp_path).task("follow")
    assert (followed.tries, followed.value) == (2, "order 1001 is on its way")
    assert (tmp_path / "told.txt").read_text() == "try 1: 429: ask later\norder 1001 was followed\n"


def test_an_order_that_is_not_there_is_asked_for_once(tmp_path: Path) -> None:
    result = run("told_in_time", tmp_path, order="none").task("follow")
    assert (result.state, result.tries) == ("failed", 1)
    assert result.error is not None
    assert result.error["retry_reason"] == "asking again does not make the order exist"
    assert (tmp_path / "told.txt").read_text() == "order none could not be followed: task_failure\n"


def test_prices_are_published_once_somebody_approves_them(tmp_path: Path) -> None:
    dag, _ = load("price_list")
    given = {"folder": str(tmp_path)}
    states = dag.test(logical_date=DATE, run_conf=given).states
    assert (states["service_up"], states["approve"], states["publish"]) == ("skipped", "success", "skipped")
    assert not (tmp_path / "price_list.txt").exists()
    result = dag.test(logical_date=DATE, run_conf=given, answers={"approve": "Approve"})
    result.raise_if_failed()
    lines = (tmp_path / "price_list.txt").read_text().splitlines()
    assert lines == ["coffee: 6.20", "honey: 5.80", "tea: 4.50", "approved by test"]


def test_the_files_load_without_anything_but_treadle_and_the_standard_library() -> None:
    code = (
        "import runpy, sys; known = set(sys.modules);"
        f"[runpy.run_path(str(p)) for p in __import__('pathlib').Path({str(DAGS)!r}).glob('*.py')];"
        "new = {name.split('.')[0] for name in set(sys.modules) - known};"
        "print(sorted(name for name in new - set(sys.stdlib_module_names) - {'treadle'} if name[:1] != '_'))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
