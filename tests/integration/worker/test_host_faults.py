"""What happens to attempts when the processes above them die, or the DAG file cannot be used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.worker.conftest import Rig
from tests.support.processes import pids_running, processes_with
from tests.support.waiting import wait_until

WAITING = """
@task
def waiting():
    subprocess.Popen(LEFT, start_new_session=True)
    pathlib.Path(HOME, "running").touch()
    time.sleep(600)

@task
def quick():
    return os.getpid()
waiting(), quick()
"""


def zygote_and_template(home: Path) -> tuple[int, int]:
    """The host's zygote is the oldest of its kind; the template was forked from it before any child."""
    zygote, template, *_ = pids_running("treadle_worker.zygote", str(home))
    return zygote, template


def error_of(rig: Rig, task_id: str, **changes: object) -> tuple[str, str]:
    finish = rig.run(task_id, **changes)
    assert finish["outcome"] == "failed"
    assert finish["error"] is not None
    return finish["error"]["kind"], finish["error"]["message"]


def test_a_killed_template_costs_its_attempts_only_and_is_replaced(rig: Rig) -> None:
    rig.dag(WAITING)
    workload = rig.queue("waiting")
    wait_until((rig.home / "running").exists)
    os.kill(zygote_and_template(rig.home)[1], signal.SIGKILL)
    finish = rig.end_of(workload)
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "lost"
    assert "killed by signal 9" in finish["error"]["message"]
    assert rig.run("quick")["outcome"] == "success"
    wait_until(lambda: not rig.left_behind())


def test_a_killed_zygote_ends_the_host_and_another_takes_over(rig: Rig) -> None:
    rig.dag(WAITING)
    workload = rig.queue("waiting")
    wait_until((rig.home / "running").exists)
    os.kill(zygote_and_template(rig.home)[0], signal.SIGKILL)
    event = rig.event()
    assert (event.kind, str(event.attempt_id)) == ("lost", workload["attempt_id"])
    assert "exit code 3" in event.reason
    assert rig.run("quick")["outcome"] == "success"
    wait_until(lambda: not rig.left_behind())


def test_a_killed_host_leaves_no_process(rig: Rig) -> None:
    rig.dag(WAITING)
    rig.queue("waiting")
    wait_until((rig.home / "running").exists)
    old = processes_with(str(rig.home))
    os.kill(rig.executor.host_pid or 0, signal.SIGKILL)
    assert "killed by signal 9" in rig.event().reason
    wait_until(lambda: not old.keys() & processes_with(str(rig.home)).keys())
    wait_until(lambda: not rig.left_behind())


SCHEDULER = """
import sys, threading
from pathlib import Path
from tests.integration.worker.conftest import Rig
rig = Rig(Path(sys.argv[1]))
rig.executor.start(lambda: None)
rig.dag(sys.argv[2])
rig.queue("waiting")
threading.Event().wait()
"""


def test_a_killed_scheduler_leaves_no_process(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", SCHEDULER, str(tmp_path), WAITING], cwd=root) as scheduler:
        wait_until((tmp_path / "running").exists)
        scheduler.kill()
    wait_until(lambda: not processes_with(str(tmp_path)))


def test_ending_leaves_no_process(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig()
    rig.dag(WAITING)
    workload = rig.queue("waiting")
    wait_until((rig.home / "running").exists)
    rig.executor.end()
    assert not processes_with(str(rig.home))
    assert not rig.left_behind()
    finish = rig.execution.finishes[workload["attempt_id"]]
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "terminated"


def test_a_file_that_raises_fails_its_attempts_with_the_traceback(rig: Rig) -> None:
    rig.file("from treadle import DAG\n1 / 0\n")
    finish = rig.run("any")
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "import"
    assert "ZeroDivisionError" in finish["error"]["message"]
    assert "one.py" in finish["error"]["traceback"]


def test_a_file_that_was_repaired_works_at_the_next_attempt(rig: Rig) -> None:
    rig.file("1 / 0\n")
    hash_of_the_broken = rig.workload("quick")["file_hash"]
    assert error_of(rig, "quick")[0] == "import"
    rig.dag("@task\ndef quick():\n    pass\nquick()")
    assert rig.run("quick", file_hash=hash_of_the_broken)["outcome"] == "success"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os\nos._exit(7)\n", "ended with exit code 7"),
        ("import sys\nsys.exit('no')\n", "SystemExit"),
        ("def f(:\n", "SyntaxError"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "killed by signal 9"),
    ],
)
def test_a_file_that_ends_its_process_is_told_so(rig: Rig, code: str, said: str) -> None:
    rig.file(code)
    kind, message = error_of(rig, "any")
    assert kind == "import"
    assert said in message


def test_an_endless_import_is_stopped_at_its_limit(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(parse_timeout_seconds=1.0)
    rig.file("while True:\n    pass\n", "endless.py")
    rig.dag("@task\ndef quick():\n    pass\nquick()")
    endless = rig.queue("any", file="endless.py")
    assert rig.run("quick")["outcome"] == "success"
    finish = rig.end_of(endless)
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "import"
    assert "exceeded 1 s" in finish["error"]["message"]


def test_a_missing_file_and_a_missing_dag_are_named(rig: Rig) -> None:
    kind, message = error_of(rig, "any", file="nowhere.py")
    assert kind == "import"
    assert "nowhere.py" in message
    rig.dag("@task\ndef quick():\n    pass\nquick()")
    kind, message = error_of(rig, "quick", dag_id="onee")
    assert kind == "import"
    assert "did you mean 'one'" in message


THREADED = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
@task
def count():
    return threading.active_count()
count()
"""


def test_a_file_whose_import_leaves_threads_is_imported_in_each_child(rig: Rig) -> None:
    rig.dag(THREADED)
    for _ in range(2):
        finish = rig.run("count")
        assert finish["outcome"] == "success"
        # The file's thread runs in the task's process, as it would without templates.
        assert finish["xcoms"][0]["value"] == "2"


def test_an_edited_module_beside_the_file_is_seen_by_the_next_attempt(rig: Rig) -> None:
    rig.file("VALUE = 1\n", "beside_it.py")
    rig.dag("import beside_it\n@task\ndef read():\n    return beside_it.VALUE\nread()")
    assert rig.run("read")["xcoms"][0]["value"] == "1"
    rig.file("VALUE = 2000\n", "beside_it.py")
    wait_until(lambda: rig.run("read")["xcoms"][0]["value"] == "2000")


def test_a_new_version_of_a_file_is_used_at_once(rig: Rig) -> None:
    for number in range(3):
        rig.dag(f"@task\ndef read():\n    return {number}\nread()")
        assert rig.run("read")["xcoms"][0]["value"] == str(number)
    host_zygote_and_newest_template = 3
    wait_until(lambda: len(processes_with(str(rig.home))) == host_zygote_and_newest_template)


def test_an_edited_file_is_used_at_once_though_the_scheduler_has_not_read_it_yet(rig: Rig) -> None:
    """The workload names the hash that the scheduler knows; an edit of the same length in the same second counts."""
    for number in range(5):
        rig.dag(f"@task\ndef read():\n    return {number}\nread()")
        assert rig.run("read", file_hash="the same")["xcoms"][0]["value"] == str(number)


def test_no_more_templates_are_kept_than_the_setting_says(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(templates_per_host=2)
    for number in range(4):
        rig.dag("@task\ndef quick():\n    pass\nquick()", f"file{number}.py")
        assert rig.run("quick", file=f"file{number}.py")["outcome"] == "success"
    host_zygote_and_templates = 4
    wait_until(lambda: len(processes_with(str(rig.home))) <= host_zygote_and_templates)


def test_a_task_that_was_edited_away_is_told_in_one_sentence(rig: Rig) -> None:
    rig.dag("@task\ndef other():\n    pass\nother()")
    error = rig.run("gone")["error"]
    assert error is not None
    assert error["message"] == "one.py was edited after this run began: DAG 'one' has no task 'gone'"
