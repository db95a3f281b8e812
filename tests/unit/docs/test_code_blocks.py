"""Every Python block of README, tutorial and how-to pages runs, and the DAGs that it defines succeed in a test run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from treadle import collection

ROOT = Path(__file__).parents[3]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("tutorial/*.md")),
    *sorted((ROOT / "docs").glob("howto/*.md")),
]
# What the pages' DAGs ask for; no page stores it anywhere.
CONNECTIONS = {"warehouse": "postgres://loader:for-tests-only@db.example.com/dw"}


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def _cases() -> list[object]:
    found = [(page, number, text) for page in PAGES for number, text in enumerate(blocks(page, "python"))]
    return [pytest.param(text, id=f"{page.stem}-{number}") for page, number, text in found if "pytest" not in text]


@pytest.mark.parametrize("text", _cases())
def test_a_block_runs_and_its_dags_succeed(text: str) -> None:
    collection.begin()
    names: dict[str, object] = {"__name__": "page"}
    exec(compile(text, "page.py", "exec"), names)

    dags = collection.collect(names.values())

    assert dags
    for dag in dags:
        dag.test(connections=CONNECTIONS).raise_if_failed()


def test_the_tests_that_the_manual_shows_pass(tmp_path: Path) -> None:
    page = ROOT / "docs" / "howto" / "test-dags.md"
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "bakery.py").write_text(blocks(ROOT / "docs" / "tutorial" / "first-dag.md", "python")[-1])
    for number, text in enumerate(text for text in blocks(page, "python") if "pytest" in text):
        (tmp_path / f"test_{number}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = dags\n")
    environment = {**os.environ, "TREADLE_HOME": str(tmp_path / "home"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 passed" in ran.stdout


def test_pages_with_dags_are_found() -> None:
    assert len(_cases()) >= 5
