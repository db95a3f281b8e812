"""From a DAG file's bytes to documents and errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from treadle_scheduler.parsing.collecting import FileFailed, Source, collect
from treadle_scheduler.parsing.warming import SAMPLE, warm_up

HEAD = "from datetime import datetime, timedelta\nfrom treadle import DAG, dag, task, EmptyOperator\n"


def _source(tmp_path: Path, text: str, file: str = "a.py") -> Source:
    path = tmp_path / file
    path.write_text(text)
    return Source(file, str(path), path.read_bytes(), str(tmp_path))


def _collect(tmp_path: Path, text: str, known: dict[str, str] | None = None) -> dict[str, Any]:
    return collect(_source(tmp_path, HEAD + text), known or {}, "trigger")


def _failure(tmp_path: Path, text: str) -> dict[str, Any]:
    with pytest.raises(FileFailed) as caught:
        collect(_source(tmp_path, text), {}, "trigger")
    return caught.value.error


def test_dags_in_names_with_blocks_and_calls_are_all_found(tmp_path: Path) -> None:
    found = _collect(
        tmp_path,
        "one = DAG('one')\n"
        "def make():\n    with DAG('two'):\n        EmptyOperator(task_id='t')\n"
        "make()\n"
        "@dag\ndef three():\n    EmptyOperator(task_id='t')\n"
        "three()\n",
    )
    assert found["errors"] == []
    assert sorted(one["dag_id"] for one in found["dags"]) == ["one", "three", "two"]


def test_a_file_that_forgets_to_call_its_dag_function_is_told_so(tmp_path: Path) -> None:
    error = _failure(tmp_path, HEAD + "@dag(dag_id='sales')\ndef make_sales():\n    EmptyOperator(task_id='t')\n")
    assert (error["dag_id"], error["line"]) == ("sales", 3)
    assert error["message"].startswith("a.py, line 3: @dag function 'make_sales' is never called, so the file")
    of_another_file = "exec(compile('@dag\\ndef two(): ...', 'b.py', 'exec'))\n"
    assert _collect(tmp_path, of_another_file) == {"dags": [], "errors": []}
    assert len(_collect(tmp_path, "@dag\ndef other(): ...\none = DAG('one')\n")["dags"]) == 1


def test_one_bad_dag_leaves_the_others_of_its_file_alone(tmp_path: Path) -> None:
    found = _collect(
        tmp_path,
        "good = DAG('good')\n"
        "bad = DAG('bad', schedule='61 * * * *', start_date=datetime(2025, 1, 1))\n"
        "never = DAG('never', schedule='0 0 30 2 *', start_date=datetime(2025, 1, 1))\n",
    )
    assert [one["dag_id"] for one in found["dags"]] == ["good"]
    assert [(one["dag_id"], one["line"]) for one in found["errors"]] == [("bad", 4), ("never", 5)]
    assert found["errors"][0]["message"].startswith("a.py, line 4: DAG 'bad': ")
    assert "61" in found["errors"][0]["message"]


def test_a_cycle_names_file_line_and_tasks(tmp_path: Path) -> None:
    found = _collect(
        tmp_path,
        "with DAG('d'):\n    a = EmptyOperator(task_id='a')\n    b = EmptyOperator(task_id='b')\n    a >> b >> a\n",
    )
    (error,) = found["errors"]
    assert error["message"].startswith("a.py, line ")
    assert "a >> b >> a" in error["message"]
    assert str(tmp_path) not in error["message"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x = 1\ndef f(:\n", 2, "SyntaxError"),
        ("import os\n\nraise KeyError('x')\n", 3, "KeyError: 'x'"),
        ("def f():\n    return 1 / 0\n\nf()\n", 2, "ZeroDivisionError"),
        ("import sys\nsys.exit(4)\n", 2, "sys.exit(4)"),
        ("import absent_module\n", 1, "No module named 'absent_module'"),
        ("from airflow.sdk import DAG, task\n", 1, "write `from treadle import DAG, task`"),
        ("raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"),
        ("from treadle import DAG\nDAG('../up')\n", 2, "'../up'"),
        ("from treadle import DAG\nDAG('a' * 10_000)\n", 2, "10000 characters"),
        ("from treadle import DAG\nDAG('a\\0b')\n", 2, "\\x00"),
        ("from treadle import DAG\nDAG('\N{SEWING NEEDLE}')\n", 2, "letters, digits"),
        ("from treadle import DAG\na = DAG('d')\nb = DAG('d')\n", 3, "defined twice"),
        ("class Bad(Exception):\n    def __str__(self):\n        1 / 0\nraise Bad\n", 4, "Bad"),
        ("x = '\0'\n", None, "null bytes"),
        ("# -*- coding: nonsense -*-\n", None, "nonsense"),
        ("x = '\\ud800'\nraise ValueError(x)\n", 2, "ValueError"),
        ("(" * 100_000, None, "a.py"),
    ],
)
def test_a_file_that_cannot_be_run_says_why_and_where(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    error = _failure(tmp_path, text)
    assert words in error["message"]
    assert error["message"].startswith("a.py")
    if line is not None:
        assert error["line"] == line
        assert error["message"].startswith(f"a.py, line {line}: ")
    assert len(error["message"]) < 1000


def test_the_traceback_begins_in_the_file(tmp_path: Path) -> None:
    error = _failure(tmp_path, "def f():\n    return 1 / 0\n\nf()\n")
    assert "collecting.py" not in error["stacktrace"]
    assert 'a.py", line 4' in error["stacktrace"]
    assert 'a.py", line 2' in error["stacktrace"]


@pytest.mark.parametrize(
    "text", ["DAG('d', description='a\\0b')", "DAG('d', doc_md='\\ud800')", "DAG('d', description=object())"]
)
def test_text_that_no_database_can_hold_is_an_error_of_its_dag(tmp_path: Path, text: str) -> None:
    found = _collect(tmp_path, f"x = {text}\ngood = DAG('good')\n")
    assert [one["dag_id"] for one in found["dags"]] == ["good"]
    assert found["errors"][0]["line"] == 3


def test_a_field_that_moves_is_seen_in_a_second_run(tmp_path: Path) -> None:
    text = "import random\nx = DAG('d', description=str(random.random()))\n"
    (dag,) = _collect(tmp_path, text)["dags"]
    assert dag["again"]["description"] != dag["document"]["description"]


def test_a_file_that_gives_what_is_stored_is_run_once(tmp_path: Path) -> None:
    mark = tmp_path / "runs"
    text = f"import random\nwith open({str(mark)!r}, 'a') as file:\n    file.write('x')\nx = DAG('d')\n"
    (dag,) = _collect(tmp_path, text)["dags"]
    assert mark.read_text() == "xx"
    assert "again" not in dag
    _collect(tmp_path, text, {"d": dag["digest"]})
    assert mark.read_text() == "xxx"


def test_a_file_that_cannot_run_twice_is_fine(tmp_path: Path) -> None:
    text = "import builtins, random\nassert not hasattr(builtins, 'ran')\nbuiltins.ran = True\nx = DAG('d')\n"
    try:
        assert [one["dag_id"] for one in _collect(tmp_path, text)["dags"]] == ["d"]
    finally:
        vars(__import__("builtins")).pop("ran", None)


def test_a_dag_that_is_merely_imported_has_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "origin_module.py").write_text("from treadle import DAG\nshared = DAG('shared')\n")
    try:
        found = _collect(tmp_path, "from origin_module import shared\nown = DAG('own')\n")
    finally:
        sys.modules.pop("origin_module", None)
    assert {one["dag_id"]: one["origin"] for one in found["dags"]} == {"shared": "origin_module.py", "own": None}


UNSTEADY = """
names = {"alpha", "beta", "gamma", "delta", "epsilon"}
with DAG("d", tags=list(names), schedule="@daily", start_date=datetime(2025, 1, 1), params={"p": sorted(names)}) as one:
    first = EmptyOperator(task_id="first", owner="me")
    for name in sorted(names):
        first >> EmptyOperator(task_id=name, executor_config={"b": 1, "a": {"y": 1, "x": 2}})
"""


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_the_digest_does_not_hang_on_the_hash_seed(tmp_path: Path, seed: str) -> None:
    source = _source(tmp_path, HEAD + UNSTEADY)
    expected = collect(source, {}, "trigger")["dags"][0]["digest"]
    program = (
        "import sys; from treadle_scheduler.parsing.collecting import Source, collect; "
        "source = Source('a.py', sys.argv[1], open(sys.argv[1], 'rb').read(), sys.argv[2]); "
        "print({collect(source, {}, 'trigger')['dags'][0]['digest'] for _ in range(50)})"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program, source.path, str(tmp_path)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.strip() == repr({expected})


def test_the_zygotes_sample_parses_and_leaves_no_module(tmp_path: Path) -> None:
    before = set(sys.modules)
    warm_up(str(tmp_path))
    assert not any("warm_up" in name for name in sys.modules.keys() - before)
    found = collect(Source("w.py", str(tmp_path / "w.py"), SAMPLE, str(tmp_path)), {}, "trigger")
    assert sorted(one["dag_id"] for one in found["dags"]) == ["warm_1", "warm_2"]
