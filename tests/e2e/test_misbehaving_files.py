"""DAG files that misbehave in a whole installation: each has its error, the others go on (issue 2, bad input)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from tests.support.installed import Installed, is_alive
from tests.support.waiting import wait_until

HEAD = "import os, subprocess, sys, time\nfrom treadle import DAG, EmptyOperator\n"

# Bounded, so that a failing test harms nobody: no more than 400 processes, each for no more than 20 s.
FORK_BOMB = (
    "pids = os.open(os.path.dirname(__file__) + '/../bomb.pids', os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
    "for _ in range(400):\n    if os.fork() == 0:\n        os.write(pids, b'%d\\n' % os.getpid())\n"
    "        time.sleep(20)\n        os._exit(0)\n"
    "time.sleep(20)\nDAG('bomb')\n"
)

BAD: Mapping[str, tuple[str, str]] = {
    "syntax.py": ("def broken(:\n", "SyntaxError"),
    "endless.py": ("while True:\n    pass\n", "after 5 s"),
    "memory.py": ("hoard = bytearray(2 * 1024 ** 3)\n", "more than 512 MB"),
    "exits.py": ("os._exit(7)\n", "exit code 7"),
    "bomb.py": (FORK_BOMB, "more than 200 processes"),
    "noise.py": ("for _ in range(200):\n    os.write(1, b'noise' * 20_000)\nraise ValueError('heard')\n", "heard"),
    "long_id.py": ("DAG('a' * 10_000)\n", "10000 characters"),
    "nul_id.py": ("DAG('a\\0b')\n", "\\x00"),
    "path_id.py": ("DAG('../../etc/passwd')\n", "../../etc/passwd"),
    "emoji_id.py": ("DAG('\N{FIRE}')\n", "\\U0001f525"),
    "task_id.py": ("with DAG('d'):\n    EmptyOperator(task_id='../up')\n", "../up"),
}


def _dags(client: httpx.Client) -> set[str]:
    return {one["dag_id"] for one in client.get("/api/v2/dags").json()["dags"]}


@pytest.fixture(scope="module")
def before(client: httpx.Client) -> set[str]:
    """The DAGs that are there before there is a bad file."""
    return _dags(client)


@pytest.fixture(scope="module")
def errors(installed: Installed, client: httpx.Client, before: set[str]) -> dict[str, Any]:
    """Write all bad files at once, let the bystander run meanwhile, and return the error of each file."""
    for name, (source, _) in BAD.items():
        installed.add(name, HEAD + source)
    installed.succeeds()

    def listed() -> dict[str, Any]:
        answer = client.get("/api/v2/importErrors", params={"limit": 100}).json()
        return {one["filename"]: one for one in answer["import_errors"]}

    wait_until(lambda: BAD.keys() <= listed().keys(), 60)
    return listed()


def test_every_bad_file_has_an_error_that_names_it_and_the_fault(errors: dict[str, Any]) -> None:
    for file, (_, words) in BAD.items():
        told = errors[file]["stack_trace"]
        assert file in told, told
        assert words in told, told
        assert len(told) < 200_000


def test_no_bad_file_makes_a_dag_or_touches_another(
    errors: dict[str, Any], before: set[str], installed: Installed, client: httpx.Client
) -> None:
    assert set(errors) == set(BAD)
    assert "bystander" in before
    assert _dags(client) == before
    assert installed.is_healthy()
    installed.succeeds()
    pids = (installed.home / "bomb.pids").read_text().split()
    assert len(pids) > 100
    wait_until(lambda: not [pid for pid in pids if is_alive(int(pid))])


def test_the_command_line_names_the_bad_files_and_ends_with_1(errors: dict[str, Any], installed: Installed) -> None:
    answer = installed.run_command("dags", "list-import-errors", "-o", "plain")
    assert answer.returncode == 1
    assert all(file in answer.stdout for file in BAD), answer.stdout[:2000]


def test_a_repaired_file_loses_its_error_and_its_dag_runs(
    errors: dict[str, Any], installed: Installed, client: httpx.Client
) -> None:
    installed.add("syntax.py", HEAD + "with DAG('repaired'):\n    EmptyOperator(task_id='a')\n")
    installed.succeeds("repaired")
    left = client.get("/api/v2/importErrors", params={"filename": "syntax.py"}).json()["import_errors"]
    assert left == []
    (installed.home / "dags" / "syntax.py").unlink()
    wait_until(lambda: not installed.select("SELECT 1 FROM dag WHERE dag_id = 'repaired' AND is_active"))
