"""Daemons under work keep their size and leave no dead child unreaped (case B12, in a short form)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import processes
from tests.support.installed import Installed, installation
from tests.support.waiting import wait_until

FILES, ROUNDS, TASKS = 6, 3, 30
MOST_GROWTH_KB = 2 * 1024
"""Per process, over a load that was preceded by the same load. A leak of one object per task or parse is not seen
here; one of a document, a log or a socket buffer is."""

FILE = """
from treadle import DAG, task

with DAG("steady{number}", description="round {round}", max_active_tasks={tasks}):

    @task
    def nothing():
        return "x" * 10_000

    for _ in range({tasks}):
        nothing()
"""


def _private_kb(pid: int) -> int:
    """The memory that is the process's own: what it shares with others is no growth of its."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_", "SwapPss:")))


def _sizes(installed: Installed) -> dict[int, int]:
    """The lasting processes: daemons, zygotes and host, but no template and no child of one."""
    ours, _ = installed.pids()
    return {pid: _private_kb(pid) for pid in ours}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _defunct(installed: Installed) -> list[int]:
    return [pid for pid in processes.tree(installed.process.pid) if _state(pid) == "Z"]


def _work(installed: Installed, first_round: int) -> None:
    """Edit each file a few times, and run each DAG once after the last edit."""
    for number in range(first_round, first_round + ROUNDS):
        for file in range(FILES):
            installed.add(f"steady{file}.py", FILE.format(number=file, round=number, tasks=TASKS))
        wait_until(
            lambda number=number: (  # type: ignore[misc]
                len(
                    installed.select(
                        "SELECT 1 FROM dag WHERE dag_id LIKE 'steady%%' AND description = %(text)s",
                        text=f"round {number}",
                    )
                )
                == FILES
            ),
            30,
        )
    runs = [(f"steady{file}", installed.run_of(f"steady{file}")) for file in range(FILES)]
    assert [installed.end_of(dag_id, run_id) for dag_id, run_id in runs] == ["success"] * FILES


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """An installation that has done nothing else."""
    with installation(tmp_path_factory.mktemp("steady") / "home", {}) as one:
        yield one


def test_daemons_neither_grow_nor_leave_defunct_children(installed: Installed) -> None:
    _work(installed, 0)
    _work(installed, ROUNDS)
    before = _sizes(installed)
    _work(installed, 2 * ROUNDS)
    after = _sizes(installed)
    lasting = before.keys() & after.keys()
    assert len(lasting) >= 6, "standalone, three daemons, runner host and zygotes"
    growth = {pid: after[pid] - before[pid] for pid in lasting}
    assert max(growth.values()) < MOST_GROWTH_KB, growth
    wait_until(lambda: not _defunct(installed))
