"""A whole DAG in this process: states, XComs, no server, no database, no waiting (cases G10, G12, G13)."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from treadle import DAG, EmptyOperator, FailTask, Param, ParamError, SkipTask, task
from treadle.connections import Connection
from treadle.errors import DagTestFailed, SourceFileError, TaskNotFoundError
from treadle.runtime import dag_test
from treadle.variable import Variable


def branching() -> DAG:
    with DAG("branching", schedule="@daily", start_date=datetime(2024, 1, 1, tzinfo=UTC)) as dag:

        @task
        def is_weekend(logical_date: Any = None) -> bool:
            return bool(logical_date.weekday() >= 5)

        @task
        def weekend(flag: bool) -> str:
            if not flag:
                raise SkipTask("a working day")
            return Connection.get("warehouse").host or ""

        @task
        def weekday(flag: bool) -> str:
            if flag:
                raise SkipTask("a weekend")
            return "work"

        @task(trigger_rule="none_failed_min_one_success")
        def report(one: str | None, other: str | None, ds: str | None = None) -> str:
            return f"{ds}: {one or other}"

        flag = is_weekend()
        report(weekend(flag), weekday(flag))
    return dag


def test_a_branching_dag_is_tested_at_a_mocked_date_with_a_fake_connection_in_under_a_second() -> None:
    began = time.monotonic()
    result = dag_test.run(
        branching(),
        logical_date=datetime(2024, 3, 10, tzinfo=UTC),
        connections={"warehouse": "postgres://user:pw@fake-host/db"},
    )
    assert time.monotonic() - began < 1
    assert result.state == "success"
    assert result.states == {
        "is_weekend": "success",
        "weekend": "success",
        "weekday": "skipped",
        "report": "success",
    }
    assert result.xcoms["report"] == "2024-03-10: fake-host"
    assert result.task("weekday").message == ""


def test_the_test_needs_no_server_package() -> None:
    code = (
        "import sys\n"
        "from treadle import DAG, task\n"
        "from treadle.runtime import dag_test\n"
        "with DAG('d', schedule='@daily') as dag:\n"
        "    @task\n"
        "    def a(): return 1\n"
        "    a()\n"
        "assert dag_test.run(dag).xcoms == {'a': 1}\n"
        "bad = {'sqlalchemy', 'psycopg', 'treadle_metadata', 'fastapi', 'jinja2', 'jsonschema'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_dag_test_is_a_method_of_the_dag() -> None:
    with DAG("d") as dag:
        EmptyOperator(task_id="a")
    assert dag.test().states == {"a": "success"}


def test_retries_come_at_once_and_see_their_try_number() -> None:
    with DAG("d") as dag:

        @task(retries=2, retry_delay=timedelta(hours=5))
        def flaky(ti: Any = None) -> int:
            if ti.try_number < 3:
                raise ValueError("not yet")
            return int(ti.try_number)

        @task(retries=3)
        def hopeless() -> None:
            raise FailTask("never")

        flaky()
        hopeless()
    result = dag_test.run(dag)
    assert (result.task("flaky").state, result.task("flaky").tries) == ("success", 3)
    assert (result.task("hopeless").state, result.task("hopeless").tries) == ("failed", 1)


def test_a_failure_goes_downstream_and_is_told_with_its_traceback() -> None:
    with DAG("d") as dag:

        @task
        def bad() -> None:
            raise ValueError("broken")

        last = EmptyOperator(task_id="last")
        always = EmptyOperator(task_id="always", trigger_rule="all_done")
        bad() >> last
        last >> always
    result = dag_test.run(dag)
    assert result.state == "success"  # judged by the tasks that none waits for
    assert result.states == {"bad": "failed", "last": "upstream_failed", "always": "success"}
    with DAG("e") as other:
        task(task_id="bad")(lambda: 1 / 0)()
    with pytest.raises(DagTestFailed, match=r"(?s)bad: division by zero.*ZeroDivisionError"):
        dag_test.run(other).raise_if_failed()


def test_mapped_tasks_are_expanded_over_results_and_over_nothing() -> None:
    with DAG("d") as dag:

        @task
        def numbers() -> list[int]:
            return [1, 2, 3]

        @task
        def nothing() -> list[int]:
            return []

        @task(map_index_template="n={{ task.op_kwargs.n }}")
        def double(n: int, by: int) -> int:
            return n * by

        @task
        def total(values: list[int]) -> int:
            return sum(values)

        doubled = double.expand(n=numbers(), by=[2, 10])
        total(doubled)
        again = double.override(task_id="again").partial(by=1).expand(n=doubled)
        total.override(task_id="count")(again)
        double.override(task_id="over_nothing").partial(by=1).expand(n=nothing())
    result = dag_test.run(dag)
    assert result.xcoms["double"] == [2, 10, 4, 20, 6, 30]
    assert result.xcoms["total"] == result.xcoms["count"] == 72
    assert result.states["over_nothing"] == "skipped"
    assert result.task("double", 3).rendered_map_index == "n=2"


def test_mapping_over_what_is_no_list_fails_with_the_reason() -> None:
    with DAG("d") as dag:

        @task
        def text() -> str:
            return "abc"

        @task
        def each(x: Any) -> None: ...

        each.expand(x=text())
    result = dag_test.run(dag)
    assert result.states == {"text": "success", "each": "failed"}
    assert "pushed no list or dict" in result.task("each").message


def test_conf_is_validated_and_reaches_params_and_dag_run() -> None:
    with DAG("d", params={"n": Param(1, type="integer", minimum=1)}) as dag:

        @task
        def read(params: Any = None, dag_run: Any = None) -> Any:
            return [params["n"], dag_run.conf.get("free")]

        read()
    assert dag_test.run(dag).xcoms["read"] == [1, None]
    assert dag_test.run(dag, run_conf={"n": 5, "free": "x"}).xcoms["read"] == [5, "x"]
    with pytest.raises(ParamError, match="'n'"):
        dag_test.run(dag, run_conf={"n": 0})


def test_a_function_that_wants_the_date_of_a_run_without_one_is_told_so() -> None:
    with DAG("undated") as dag:

        @task
        def load(ds: str) -> str:
            return ds

        @task
        def save(ds: str | None = None) -> str:
            return ds or "undated"

        load()
        save()

    result = dag_test.run(dag, logical_date=None)
    assert "load() wants ds of the context, but this run has no logical date" in result.task("load").message
    assert result.states["save"] == "success"


def test_a_run_without_a_logical_date_has_no_date_keys() -> None:
    with DAG("d") as dag:

        @task
        def keys(**context: Any) -> list[str]:
            return sorted(set(context) & {"ds", "logical_date", "run_id"})

        keys()
    assert dag_test.run(dag, logical_date=None).xcoms["keys"] == ["run_id"]


def test_connections_and_variables_come_from_dicts_then_files_then_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DAG("d") as dag:

        @task
        def read(names: list[str]) -> list[Any]:
            return [Connection.get(name).host for name in names] + [Variable.get(name, None) for name in names]

        read(["a", "b", "c"])
    for name in "ABC":
        monkeypatch.setenv(f"TREADLE_CONN_{name}", "x://environment")
        monkeypatch.setenv(f"TREADLE_VAR_{name}", "environment")
    connections = tmp_path / "connections.json"
    connections.write_text(json.dumps({"a": "x://file", "b": {"conn_type": "x", "host": "file"}}))
    variables = tmp_path / "variables.env"
    variables.write_text("# ours\n\na=file\nb = file\n")
    result = dag_test.run(
        dag,
        conn_file_path=str(connections),
        variable_file_path=str(variables),
        connections={"a": Connection("a", host="given")},
        variables={"a": {"n": 1}},
    )
    assert result.xcoms["read"] == ["given", "file", "environment", '{"n": 1}', "file", "environment"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.json", "{", "JSONDecodeError"),
        ("x.yaml", "- a", "expected an object"),
        ("x.env", "a b", "line 1 is not NAME=VALUE"),
        ("missing.json", None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, name: str, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with DAG("d") as dag:
        EmptyOperator(task_id="a")
    with pytest.raises(SourceFileError, match=words):
        dag_test.run(dag, variable_file_path=str(tmp_path / name))


def test_what_a_task_sets_is_seen_later_in_the_run_and_gone_afterwards() -> None:
    with DAG("d") as dag:

        @task
        def write() -> None:
            Variable.set("mark", "1")

        @task
        def read() -> Any:
            return Variable.get("mark", None)

        write() >> read()
    before = dict(os.environ)
    assert dag_test.run(dag).xcoms["read"] == "1"
    assert Variable.get("mark", None) is None
    assert dict(os.environ) == before


def test_marked_tasks_succeed_without_being_run_and_fail_fast_stops_the_run() -> None:
    def build(fail_fast: bool) -> DAG:
        with DAG("d", fail_fast=fail_fast) as dag:
            task(task_id="costly")(lambda: 1 / 0)()
            task(task_id="later")(lambda: 1)()
        return dag

    assert dag_test.run(build(False), mark_success_pattern="^cost").states == {"costly": "success", "later": "success"}
    result = dag_test.run(build(True))
    assert (result.state, result.states) == ("failed", {"costly": "failed", "later": "skipped"})


def test_ctrl_c_stops_the_test_and_not_one_task() -> None:
    with DAG("d") as dag:

        @task
        def interrupted() -> None:
            raise KeyboardInterrupt

        interrupted()
    with pytest.raises(KeyboardInterrupt):
        dag_test.run(dag)


def test_one_task_is_run_alone_with_given_results_and_without_retries() -> None:
    ran = []
    with DAG("d") as dag:

        @task
        def up() -> list[int]:
            ran.append("up")
            return [1]

        @task(retries=5)
        def down(x: int, ti: Any = None) -> Any:
            ran.append("down")
            if x == 9:
                raise ValueError("nine")
            return [x, ti.max_tries]

        @task
        def after(values: Any) -> None:
            ran.append("after")

        after(down.expand(x=up()))
        down.override(task_id="plain")(3)
    result = dag_test.run_single(dag, "down", map_index=1, xcoms={"up": [7, 8]})
    assert (result.state, result.value, result.name) == ("success", [8, 0], "down[1]")
    assert dag_test.run_single(dag, "plain").value == [3, 0]
    assert dag_test.run_single(dag, "down", xcoms={"up": [9]}).state == "failed"
    assert "up" not in ran
    assert "after" not in ran
    with pytest.raises(LookupError, match=r"has no instance 0: cannot expand .*give the results it is mapped over"):
        dag_test.run_single(dag, "down")
    with pytest.raises(TaskNotFoundError, match="did you mean 'down'"):
        dag_test.run_single(dag, "dwon")


def test_the_answer_names_what_it_does_not_have() -> None:
    with DAG("d") as dag:
        EmptyOperator(task_id="first")
    result = dag_test.run(dag)
    with pytest.raises(LookupError, match="did you mean 'first'"):
        result.task("frist")
    with pytest.raises(LookupError, match="its map indexes are -1"):
        result.task("first", 3)


def test_states_are_logged_as_they_come(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with DAG("d") as dag:
        EmptyOperator(task_id="first")
    dag_test.run(dag)
    assert "first: success" in caplog.text


def test_a_test_within_a_task_leaves_that_task_its_context() -> None:
    with DAG("inner") as inner:
        EmptyOperator(task_id="a")
    with DAG("outer") as outer:

        @task
        def nested() -> Any:
            Variable.set("v", "outer")
            state = dag_test.run(inner).state
            return [state, Variable.get("v"), os.environ["TREADLE_CTX_DAG_ID"]]

        nested()
    assert dag_test.run(outer).xcoms["nested"] == ["success", "outer", "outer"]
