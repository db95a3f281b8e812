"""Bad DAGs: every message names the file, the line and the thing, and says what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from treadle import DAG, DagError, EmptyOperator
from treadle.collection import begin, collect
from treadle.serialization import document_of, problems, validate

HEAD = """\
from datetime import datetime, timedelta
from treadle import *
with DAG("d"): foreign = EmptyOperator(task_id="foreign")
"""


def parse(path: Path) -> None:
    begin()
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), path, "exec"), names)
    for dag in collect(names.values()):
        validate(dag)
        document_of(dag)


def error_of(tmp_path: Path, *lines: str) -> DagError:
    """Parse a file of ``lines``, the first of which is line 4, as the DAG processor does; return its error."""
    path = tmp_path / "bad.py"
    path.write_text(HEAD + "\n".join(lines) + "\n")
    with pytest.raises(DagError) as caught:
        parse(path)
    assert caught.value.file == str(path)
    assert str(caught.value).startswith(f"{path}, line {caught.value.line}: ")
    return caught.value


CASES: list[tuple[str, list[str], int, str]] = [
    (
        "cycle",
        ["with DAG('x'):", "  a, b, c = (EmptyOperator(task_id=i) for i in 'abc')", "  a >> b >> c >> a"],
        5,
        "DAG 'x' has a cycle: a >> b >> c >> a",
    ),
    ("self", ["with DAG('x'):", "  a = EmptyOperator(task_id='a')", "  a >> a"], 6, "has a cycle: a >> a"),
    (
        "duplicate",
        ["with DAG('x'):", "  EmptyOperator(task_id='a')", "  EmptyOperator(task_id='a')"],
        6,
        r"task 'a' is defined twice in DAG 'x': first in .*bad.py, line 5",
    ),
    (
        "group of a task's name",
        ["with DAG('x'):", "  EmptyOperator(task_id='a')", "  TaskGroup('a')"],
        6,
        "group 'a' is defined twice",
    ),
    ("two DAGs", ["DAG('x').__enter__()", "DAG('x').__enter__()"], 5, "DAG 'x' is defined twice in this file"),
    ("empty id", ["DAG('')"], 4, "DAG id '' cannot be used: expected 1 to 250 letters"),
    ("path id", ["DAG('../../etc/passwd')"], 4, re.escape("DAG id '../../etc/passwd' cannot be used")),
    ("dots", ["DAG('..')"], 4, "not only dots"),
    ("newline", ["DAG('a\\n')"], 4, re.escape(r"DAG id 'a\n'")),
    ("NUL", ["with DAG('x'):", "  EmptyOperator(task_id='a\\0b')"], 5, re.escape(r"task id 'a\x00b'")),
    ("emoji", ["DAG('\\U0001f600')"], 4, re.escape(r"DAG id '\U0001f600'")),
    ("number", ["DAG(5)"], 4, "DAG id 5 cannot be used"),
    ("10 kB", ["DAG('a' * 10240)"], 4, r"DAG id 'a{39}\.\.\.a{19}' \(10240 characters\) cannot be used"),
    (
        "prefix too long",
        ["with DAG('x'), TaskGroup('g' * 150):", "  EmptyOperator(task_id='a' * 150)"],
        5,
        r"\(301 characters\) cannot be used",
    ),
    ("group dot", ["with DAG('x'): TaskGroup('a.b')"], 4, "task group id 'a.b' cannot be used"),
    ("group alone", ["TaskGroup('g')"], 4, "task group 'g' belongs to no DAG"),
    (
        "foreign edge",
        ["with DAG('x'):", "  foreign >> EmptyOperator(task_id='a')"],
        5,
        "task 'a' of DAG 'x' cannot wait for task 'foreign' of DAG 'd'",
    ),
    (
        "foreign result",
        [
            "with DAG('x'):",
            "  a = PythonOperator(task_id='a', python_callable=print)",
            "  a.op_args = [foreign.output]",
        ],
        5,
        r"task 'a' \(PythonOperator\) of DAG 'x' uses the result of task 'foreign' of DAG 'd'",
    ),
    (
        "catchup",
        ["dag = DAG('x', schedule='@daily', catchup=True)"],
        4,
        "DAG 'x' has no start_date, but catchup=True needs one",
    ),
    ("delta", ["dag = DAG('x', schedule=timedelta(hours=1))"], 4, "no start_date, but a schedule of a fixed span"),
    (
        "interval",
        ["dag = DAG('x', schedule=CronDataIntervalTimetable('@daily', 'UTC'))"],
        4,
        "no start_date, but a schedule of data intervals",
    ),
    ("preset", ["dag = DAG('x', schedule='@dayly')"], 4, "schedule='@dayly' cannot be used; .*did you mean '@daily'?"),
    ("schedule type", ["dag = DAG('x', schedule=5)"], 4, "schedule=5 cannot be used; expected a cron expression"),
    (
        "old name",
        ["dag = DAG('x', schedule_interval='@daily')"],
        4,
        "has no argument 'schedule_interval'; use schedule=",
    ),
    ("dag typo", ["dag = DAG('x', max_active_run=1)"], 4, "did you mean 'max_active_runs'?"),
    ("dag value", ["dag = DAG('x', max_active_runs=0)"], 4, "DAG 'x': max_active_runs=0 cannot be used"),
    ("dag policy", ["dag = DAG('x', catchup='no')"], 4, "catchup='no' cannot be used; expected True or 'all', False"),
    ("tags", ["dag = DAG('x', tags='etl')"], 4, "tags='etl' cannot be used; expected a list"),
    (
        "dates",
        ["dag = DAG('x', start_date='tomorrow')"],
        4,
        "start_date='tomorrow' cannot be used; expected a datetime",
    ),
    (
        "end before start",
        ["dag = DAG('x', start_date=datetime(2025, 1, 2), end_date=datetime(2025, 1, 1))"],
        4,
        "end_date=.* cannot be used; expected 2025-01-02",
    ),
    (
        "params of a scheduled DAG",
        ["dag = DAG('x', schedule='@daily', params={'n': Param(type='integer')})"],
        4,
        "DAG 'x': param 'n': has no default",
    ),
    (
        "params that do not fit",
        ["dag = DAG('x', params={'n': Param('many', type='integer')})"],
        4,
        "param 'n': 'many' is not of type 'integer'",
    ),
    (
        "rule",
        ["with DAG('x'):", "  EmptyOperator(task_id='a', trigger_rule='al_done')"],
        5,
        r"task 'a' \(EmptyOperator\): trigger_rule='al_done' cannot be used; .*did you mean 'all_done'?",
    ),
    (
        "weight rule",
        ["with DAG('x'):", "  EmptyOperator(task_id='a', weight_rule='downstreem')"],
        5,
        "did you mean 'downstream'?",
    ),
    (
        "typo",
        ["with DAG('x'):", "  BashOperator(task_id='a', bash_comand='ls')"],
        5,
        r"task 'a' \(BashOperator\) needs the argument 'bash_command'",
    ),
    (
        "unknown",
        ["with DAG('x'):", "  BashOperator(task_id='a', bash_command='ls', retrys=3)"],
        5,
        r"task 'a' \(BashOperator\) has no argument 'retrys'; did you mean 'retries'?",
    ),
    (
        "unbuilt",
        ["with DAG('x'):", "  EmptyOperator(task_id='a', run_as_user='root')"],
        5,
        "has no argument 'run_as_user'",
    ),
    ("positional", ["with DAG('x'):", "  EmptyOperator('a')"], 5, "EmptyOperator takes keyword arguments only"),
    ("slots", ["with DAG('x'):", "  EmptyOperator(task_id='a', pool_slots=0)"], 5, "pool_slots=0 .* 1 or more"),
    ("retries", ["with DAG('x'):", "  EmptyOperator(task_id='a', retries=-1)"], 5, "retries=-1 .* 0 or more"),
    ("delay", ["with DAG('x'):", "  EmptyOperator(task_id='a', retry_delay=float('nan'))"], 5, "retry_delay=nan"),
    ("callback", ["with DAG('x'):", "  EmptyOperator(task_id='a', on_failure_callback='no')"], 5, "a function of one"),
    (
        "no task",
        ["with DAG('x'):", "  EmptyOperator(task_id='a') >> 'b'"],
        5,
        r"'b' \(str\) cannot stand in a dependency",
    ),
    (
        "config",
        ["with DAG('x'):", "  EmptyOperator(task_id='a', executor_config={'pod': object})"],
        5,
        "executor_config cannot be stored: a type has no JSON form",
    ),
    (
        "fail fast",
        ["with DAG('x', fail_fast=True):", "  EmptyOperator(task_id='a', trigger_rule='all_done')"],
        5,
        "expected all_success in a DAG with fail_fast=True",
    ),
    (
        "continuous",
        ["dag = DAG('x', schedule='@continuous', start_date='2025-01-01', max_active_runs=2)"],
        4,
        "expected 1 with schedule='@continuous'",
    ),
    (
        "call",
        ["@task", "def f(x): ...", "with DAG('x'):", "  f()"],
        7,
        "@task function 'f' is called without 'x'",
    ),
    (
        "call typo",
        ["@task", "def f(rows): ...", "with DAG('x'):", "  f(row=1)"],
        7,
        "no argument 'row'; did you mean 'rows'?",
    ),
    ("context default", ["@task", "def f(ds='x'): ..."], 4, "ds='x' cannot be used; expected None or no default"),
    ("expand nothing", ["with DAG('x'):", "  task(lambda x: x).expand()"], 5, "needs at least one argument"),
    (
        "expand a number",
        ["@task", "def f(x): ...", "with DAG('x'):", "  f.expand(x=5)"],
        7,
        "x=5 cannot be used; expected a list",
    ),
    (
        "expand twice",
        ["@task", "def f(x): ...", "with DAG('x'):", "  f.partial(x=5).expand(x=[1])"],
        7,
        "'x' is fixed by partial",
    ),
    (
        "expand a setting",
        ["with DAG('x'):", "  BashOperator.partial(task_id='a', bash_command='a').expand(pool=['x'])"],
        5,
        "pool cannot be mapped",
    ),
    (
        "expand a typo",
        ["with DAG('x'):", "  BashOperator.partial(task_id='a').expand(bash_comand=['x'])"],
        5,
        "did you mean 'bash_command'?",
    ),
]


@pytest.mark.parametrize(("lines", "line", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_bad_dag_is_told_with_file_line_and_thing(tmp_path: Path, lines: list[str], line: int, message: str) -> None:
    error = error_of(tmp_path, *lines)
    assert re.search(message, error.fact), error.fact
    assert error.line == line
    assert len(str(error)) < 1000


@pytest.mark.parametrize(
    "use",
    [iter, list, lambda result: 1 in result, lambda result: result[0]],
    ids=["iterated", "listed", "searched", "indexed"],
)
def test_a_result_cannot_be_read_while_the_file_is_parsed(use: Callable[[Any], Any]) -> None:
    with DAG("d"):
        result = EmptyOperator(task_id="a").output
    with pytest.raises(TypeError, match="task 'a' is not known while the file is parsed"):
        use(result)


def test_all_problems_of_a_dag_are_told_together() -> None:
    with DAG("d", schedule=timedelta(hours=1), end_date=datetime(2025, 1, 1, tzinfo=UTC)) as dag:
        a, b = EmptyOperator(task_id="a"), EmptyOperator(task_id="b")
        a >> b >> a
    assert [type(one).__name__ for one in problems(dag)] == ["DagError", "CycleError"]
    with pytest.raises(DagError) as caught:
        validate(dag)
    assert "has a cycle" in caught.value.__notes__[0]
