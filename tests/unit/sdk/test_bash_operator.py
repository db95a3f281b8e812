"""BashOperator: what it runs, what it returns, and that nothing is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.waiting import wait_until

from treadle import DAG, BashOperator, SkipTask, task
from treadle.errors import CommandError, DagError, TreadleError


def bash(command: str, **arguments: Any) -> BashOperator:
    return BashOperator(task_id="a", bash_command=command, **arguments)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_the_last_line_of_standard_output_is_the_result() -> None:
    assert bash("echo one; echo two; echo not this >&2").execute({}) == "two"
    assert bash("true").execute({}) == ""
    assert bash("echo 5", output_processor=int).execute({}) == 5


def test_it_runs_in_a_folder_of_its_own_that_is_removed() -> None:
    folder = bash("touch here; pwd").execute({})
    assert folder != os.getcwd()
    assert not Path(folder).exists()


def test_it_runs_in_the_folder_that_is_given(tmp_path: Path) -> None:
    assert bash("pwd", cwd=str(tmp_path)).execute({}) == str(tmp_path)
    with pytest.raises(TreadleError, match="is no folder"):
        bash("pwd", cwd=str(tmp_path / "missing")).execute({})


def test_env_replaces_the_environment_or_adds_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTER", "outer")
    assert bash("echo $OUTER-$OWN", env={"OWN": "own"}).execute({}) == "-own"
    assert bash("echo $OUTER-$OWN", env={"OWN": "own"}, append_env=True).execute({}) == "outer-own"
    assert bash("echo $OUTER").execute({}) == "outer"


def test_the_command_sees_nothing_of_the_watcher() -> None:
    assert bash("echo $TREADLE_LIFELINE$lifeline; ls /proc/self/fd | tr '\\n' ' '").execute({}).split() == [
        "0", "1", "2", "3",
    ]  # fmt: skip
    assert bash("wait; jobs; echo done").execute({}) == "done"


@pytest.mark.parametrize(("code", "skips"), [(99, True), (98, False)])
def test_an_exit_code_skips_or_fails(code: int, skips: bool) -> None:
    with pytest.raises(SkipTask if skips else CommandError, match=f"exit code {code}"):
        bash(f"echo last words; exit {code}").execute({})


def test_skip_codes_can_be_several_or_none() -> None:
    with pytest.raises(SkipTask):
        bash("exit 3", skip_on_exit_code=[3, 4]).execute({})
    with pytest.raises(CommandError, match="exit code 99"):
        bash("exit 99", skip_on_exit_code=None).execute({})


def test_an_end_by_signal_is_told() -> None:
    with pytest.raises(CommandError, match="ended by signal 9; its last line was 'hello'"):
        bash("echo hello; kill -9 $$").execute({})


def test_a_command_ending_in_sh_runs_as_typed(tmp_path: Path) -> None:
    script = tmp_path / "x.sh"
    script.write_text("#!/bin/bash\necho '{{ not rendered }}'\n")
    script.chmod(0o755)
    assert bash(str(script)).execute({}) == "{{ not rendered }}"
    assert bash("echo a.json").execute({}) == "a.json"


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(DagError, match="bash_command='  ' cannot be used"):
        bash("  ").execute({})


def test_killing_it_ends_the_whole_process_group_even_if_it_ignores_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.operators.bash.GRACE_SECONDS", 0.2)
    pids = tmp_path / "pids"
    operator = bash(f"trap '' TERM; sleep 60 & echo $! > {pids}.new; mv {pids}.new {pids}; wait; sleep 60")
    codes: list[int] = []
    running = threading.Thread(target=lambda: codes.append(operator.run_command(operator.bash_command)[0]))
    running.start()
    wait_until(pids.exists)
    child = int(pids.read_text())
    assert alive(child)
    operator.on_kill()
    running.join(10)
    assert codes == [-signal.SIGKILL]
    wait_until(lambda: not alive(child))


def test_when_the_tasks_process_is_killed_the_command_and_its_children_end_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = (
        "from treadle import BashOperator\n"
        f"command = 'sleep 60 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait'\n"
        "BashOperator(task_id='a', bash_command=command).execute({})"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        wait_until(pids.exists)
        commands = [int(pid) for pid in pids.read_text().split()]
        assert all(map(alive, commands))
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not any(map(alive, commands)))


def test_background_work_outlives_a_command_that_ends_by_itself(tmp_path: Path) -> None:
    pid = int(bash("sleep 60 >/dev/null 2>&1 & echo $!").execute({}))
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_a_bash_function_returns_the_command_which_is_no_template() -> None:
    @task.bash(env={"A": "b"}, append_env=True, retries=2)
    def command(word: str, ds: str) -> str:
        """Say it."""
        return f"echo $A '{{{{ x }}}}' {word} {ds}"

    with DAG("d"):
        operator = command("hi").operator
    assert operator.operator_name == "@task.bash"
    assert operator.retries == 2
    assert operator.execute({"ds": "2025-01-01"}) == "b {{ x }} hi 2025-01-01"
