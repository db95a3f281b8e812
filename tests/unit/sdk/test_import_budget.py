"""``import treadle`` loads nothing third-party and nothing it does not need: told by module names, not by a clock."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import treadle

SHOW_MODULES = """
import sys
before = set(sys.modules)
{statement}
import json
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def modules_after(statement: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES.format(statement=statement)], capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


def foreign(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names) - {"treadle"}


def test_import_treadle_loads_three_modules_of_its_own() -> None:
    own = [name for name in modules_after("import treadle") if name.startswith("treadle")]
    assert own == ["treadle", "treadle.version"]


@pytest.mark.parametrize(
    "statement",
    [
        "import treadle",
        "from treadle import DAG, dag, task, task_group, chain, Label, Param",
        "from treadle import BaseOperator, BashOperator, EmptyOperator, PythonOperator",
        "from treadle import DAG, Param\nDAG('a', params={'x': 1})",
        "import treadle.serialization",
    ],
)
def test_authoring_loads_nothing_third_party(statement: str) -> None:
    assert foreign(modules_after(statement)) == set()


def test_python_tasks_do_not_pay_for_subprocesses_and_event_loops() -> None:
    loaded = modules_after("from treadle import DAG, dag, task, EmptyOperator, PythonOperator")
    assert not {"subprocess", "tempfile", "asyncio", "zoneinfo"} & set(loaded)


def test_the_public_names_are_sorted_complete_and_there() -> None:
    assert treadle.__all__ == sorted(
        treadle.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    for name in treadle.__all__:
        assert getattr(treadle, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Dag'"):
        _ = treadle.Dag


def test_decorators_are_not_hidden_by_modules_of_their_name() -> None:
    loaded = "import treadle, treadle.dags, treadle.tasks, treadle.task_groups, treadle.serialization\n"
    check = "assert callable(treadle.dag) and callable(treadle.task) and callable(treadle.task_group)"
    assert modules_after(loaded + check)
