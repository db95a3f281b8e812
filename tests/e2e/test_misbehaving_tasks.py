"""Tasks that misbehave in a whole installation: each says what happened, nothing else is harmed (issue 2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.installed import Installed, is_alive, run_path
from tests.support.waiting import wait_until

FLOOD_LINES, FLOOD_LINE_BYTES = 100_000, 1000
LEFT = "tail -f"

# Bounded, so that a failing test harms nobody: nothing here lives longer than 60 s or forks more than 63 times.
SOURCE = f"""
import os, pathlib, resource, signal, subprocess, sys, time
from datetime import timedelta
from treadle import DAG, task

LEFT = ["timeout", "60", "tail", "-f", __file__]

with DAG("misbehaving", max_active_tasks=100):

    @task
    def flood():
        block = (b"y" * {FLOOD_LINE_BYTES - 1} + b"\\n") * 1000
        for _ in range({FLOOD_LINES // 1000}):
            os.write(1, block)

    @task(execution_timeout=timedelta(seconds=1))
    def stubborn():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        time.sleep(60)

    @task
    def closes():
        os.closerange(3, 256)

    @task
    def big():
        return "x" * 50_000_000

    @task
    def leaves():
        os._exit(7)

    @task
    def hoards():
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
        bytearray(2 * 2**30)

    @task(execution_timeout=timedelta(seconds=1))
    def bomb():
        for _ in range(6):
            os.fork()
        time.sleep(60)

    @task
    def litters():
        subprocess.Popen(LEFT, start_new_session=True)
        raise SystemExit("enough")

    flood(), stubborn(), closes(), big(), leaves(), hoards(), bomb(), litters()
"""

ENDS: Mapping[str, tuple[str, str, str]] = {
    # task: outcome, kind of error, words of it
    "stubborn": ("failed", "timeout", "execution_timeout of"),
    "closes": ("failed", "protocol", "closed its connection"),
    "big": ("failed", "exception", "16,777,216"),
    "leaves": ("failed", "exit", "exit code 7"),
    "hoards": ("failed", "exception", "MemoryError"),
    "bomb": ("failed", "timeout", "execution_timeout of"),
    "litters": ("failed", "exit", "enough"),
}

RESISTING = """
import os, pathlib, signal, time
from datetime import timedelta
from treadle import DAG, task

def note(name, text):
    with open({folder!r} + "/" + name, "a") as file:
        file.write(f"{{text}}\\n")

with DAG({dag_id!r}, max_active_runs=1, {arguments}):

    @task
    def resist():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note("pids", os.getpid())
        time.sleep(60)

    @task(on_failure_callback=lambda context: note("failed", context["run_id"]))
    def obey():
        time.sleep(60)

    @task
    def after(both):
        note("after", both)

    after([resist(), obey()])
"""


@pytest.fixture(scope="module")
def ended(installed: Installed) -> tuple[str, dict[str, Mapping[str, Any]]]:
    """Run them all, the bystander meanwhile, and return the run's id and the attempt of each task."""
    installed.add("misbehaving.py", SOURCE)
    run_id = installed.run_of("misbehaving")
    installed.succeeds()
    assert installed.end_of("misbehaving", run_id) == "failed"
    attempts = installed.attempts("misbehaving")
    assert all(len(tries) == 1 for tries in attempts.values())
    return run_id, {task_id: tries[0] for task_id, tries in attempts.items()}


def test_every_end_is_told_in_words_in_the_attempt_and_in_its_log(
    ended: tuple[str, dict[str, Mapping[str, Any]]], client: httpx.Client
) -> None:
    run_id, attempts = ended
    for task_id, (outcome, kind, words) in ENDS.items():
        attempt = attempts[task_id]
        error = attempt["error"]
        assert (attempt["outcome"], error["kind"]) == (outcome, kind), error
        assert words in f"{error['type']}: {error['message']}", error
        log = client.get(f"{run_path('misbehaving', run_id)}/taskInstances/{task_id}/logs/1", params={"tail": 200})
        assert words in log.text, task_id


def test_100_mb_of_output_are_kept_and_can_be_read_from_both_ends(
    ended: tuple[str, dict[str, Mapping[str, Any]]], client: httpx.Client, installed: Installed
) -> None:
    run_id, attempts = ended
    assert attempts["flood"]["outcome"] == "success", attempts["flood"]["error"]
    path = installed.home / "logs" / attempts["flood"]["log_path"]
    with path.open("rb") as file:
        assert sum(line.count(b"y" * (FLOOD_LINE_BYTES - 1)) for line in file) == FLOOD_LINES
    url = f"{run_path('misbehaving', run_id)}/taskInstances/flood/logs/1"
    first = client.get(url).json()
    assert first["continuation_token"] is not None
    last = client.get(url, params={"tail": 3}).json()["content"]
    assert len(last) == 3


def test_nothing_of_them_is_left_and_the_installation_works(
    ended: tuple[str, dict[str, Mapping[str, Any]]], installed: Installed
) -> None:
    wait_until(lambda: not [line for line in installed.leftovers() if LEFT in line])
    assert installed.is_healthy()
    installed.succeeds()


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_a_run_that_is_marked_failed_ends_the_process_that_ignores_sigterm(
    installed: Installed, client: httpx.Client, tmp_path: Path
) -> None:
    source = RESISTING.format(folder=str(tmp_path), dag_id="resisting", arguments="")
    installed.add("resisting.py", source)
    run_id = installed.run_of("resisting")
    (pid,) = wait_until(lambda: _lines(tmp_path / "pids"), 20)
    answer = client.patch(run_path("resisting", run_id), json={"state": "failed"})
    assert answer.status_code == 200, answer.text
    wait_until(lambda: not is_alive(int(pid)), 20)
    (attempt,) = installed.attempts("resisting")["resist"]
    assert attempt["state"] == "failed"


def test_a_run_over_its_time_ends_its_processes_tells_the_callback_and_frees_the_next(
    installed: Installed, tmp_path: Path
) -> None:
    """Case A49: the process is gone within 30 s, the task failed and not skipped, the next run starts."""
    arguments = "dagrun_timeout=timedelta(seconds=2)"
    installed.add("overdue.py", RESISTING.format(folder=str(tmp_path), dag_id="overdue", arguments=arguments))
    first, second = installed.run_of("overdue"), installed.run_of("overdue")
    (pid, *_) = wait_until(lambda: _lines(tmp_path / "pids"), 20)
    assert installed.end_of("overdue", first, 30) == "failed"
    wait_until(lambda: not is_alive(int(pid)), 30)
    assert wait_until(lambda: _lines(tmp_path / "failed"), 30)[0] == first
    assert installed.end_of("overdue", second, 60) == "failed"
    pids = _lines(tmp_path / "pids")
    assert len(pids) == 2
    wait_until(lambda: not [one for one in pids if is_alive(int(one))], 30)
    states = installed.select("SELECT task_id, state FROM task_instance WHERE dag_id = 'overdue' ORDER BY id")
    assert {row["state"] for row in states if row["task_id"] != "after"} == {"failed"}
    assert {row["state"] for row in states if row["task_id"] == "after"} == {"skipped"}
    assert _lines(tmp_path / "after") == []
