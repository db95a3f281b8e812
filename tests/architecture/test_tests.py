"""Rules for the tests themselves: they wait for signals, never for time to pass."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support import code

MAY_SLEEP = {"tests/support/waiting.py"}


def sleeps(source: str) -> list[int]:
    """Return the lines on which Python code sleeps; code within text (a DAG file that a test writes) is not ours."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in {"time", "asyncio"}:
            found += [node.lineno for alias in node.names if alias.name == "sleep"]
        if isinstance(node, ast.Attribute) and node.attr == "sleep":
            found.append(node.lineno)
    return found


def _is_dag_file(path: Path) -> bool:
    return "dags" in path.relative_to(code.ROOT).parts


def test_sleeping_is_recognised() -> None:
    assert sleeps("import time\ntime.sleep(1)") == [2]
    assert sleeps("from time import sleep") == [1]
    assert sleeps("text = 'time.sleep(1)'") == []


def test_no_test_sleeps() -> None:
    found = [
        code.place(path, line)
        for path in (code.ROOT / "tests").glob("**/*.py")
        if str(path.relative_to(code.ROOT)) not in MAY_SLEEP and not _is_dag_file(path)
        for line in sleeps(path.read_text())
    ]
    assert found == []


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in (code.ROOT / "tests").glob("**/test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
