"""What a task child sees, what it may ask, what it writes, and children that run several attempts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.worker.conftest import Rig
from tests.support.waiting import wait_until

from treadle_worker.template_pool import SHARED_BATCH

PIDS = """
@task
def pid():
    return os.getpid()

@task
def crash():
    os._exit(9)

@task
def hold():
    pathlib.Path(HOME, f"holding-{os.getpid()}").touch()
    while not pathlib.Path(HOME, "release").exists():
        time.sleep(0.01)
pid(), crash(), hold()
"""


def value_of(rig: Rig, task_id: str, **changes: object) -> str:
    finish = rig.run(task_id, **changes)
    assert finish["outcome"] == "success", finish["error"]
    value: str = finish["xcoms"][0]["value"]
    return value


def test_each_attempt_has_a_process_of_its_own(rig: Rig) -> None:
    rig.dag(PIDS)
    assert len({value_of(rig, "pid") for _ in range(3)}) == 3


def test_shared_attempts_run_one_after_the_other_in_one_child(rig: Rig) -> None:
    rig.dag(PIDS)
    assert len({value_of(rig, "pid", isolation="shared") for _ in range(5)}) == 1


def test_tasks_per_child_lets_every_task_share_up_to_that_number(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(tasks_per_child=2)
    rig.dag(PIDS)
    pids = [value_of(rig, "pid") for _ in range(5)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [2, 2, 1]


def test_a_crash_in_a_shared_child_costs_the_attempt_that_ran_only(rig: Rig) -> None:
    rig.dag(PIDS)
    before = value_of(rig, "pid", isolation="shared")
    finish = rig.run("crash", isolation="shared")
    assert (finish["outcome"], finish["exit_code"]) == ("failed", 9)
    after = value_of(rig, "pid", isolation="shared")
    assert before != after


def test_shared_attempts_that_take_long_do_not_wait_for_each_other(rig: Rig) -> None:
    rig.dag(PIDS)
    workloads = [rig.queue("hold", isolation="shared") for _ in range(6)]
    wait_until(lambda: len(list(rig.home.glob("holding-*"))) == 6)
    (rig.home / "release").touch()
    assert {rig.end_of(one)["outcome"] for one in workloads} == {"success"}


def test_many_short_shared_attempts_need_few_processes(rig: Rig) -> None:
    rig.dag(PIDS)
    workloads = [rig.workload("pid", isolation="shared") for _ in range(3 * SHARED_BATCH)]
    rig.executor.queue(workloads)
    pids = [rig.end_of(one)["xcoms"][0]["value"] for one in workloads]
    assert 3 <= len(set(pids)) <= 20
    assert max(pids.count(pid) for pid in set(pids)) <= SHARED_BATCH


def test_a_child_sees_no_credential_of_ours(
    rig: Rig, make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_DATABASE_URL", "postgresql://treadle:hidden@db/treadle")
    monkeypatch.setenv("COPY_OF_IT", "postgresql://treadle:hidden@db/treadle")
    monkeypatch.setenv("OF_THE_USER", "visible")
    rig = make_rig(database_url="postgresql://treadle:hidden@db/treadle")
    rig.dag(
        """
        @task
        def look():
            parent = pathlib.Path(f"/proc/{os.getppid()}/environ").read_text()
            return [os.environ.get("OF_THE_USER"), "hidden" in repr(os.environ), "hidden" in parent]
        look()
        """
    )
    assert value_of(rig, "look") == '["visible",false,false]'


def test_a_task_asks_for_variables_connections_and_xcoms(rig: Rig) -> None:
    rig.execution.results = {
        "get_variable": "a value",
        "get_connection": {"conn_id": "db", "conn_type": "http", "host": "example.org", "password": "swordfish"},
    }
    rig.dag(
        """
        from treadle import Connection, Variable
        @task
        def ask():
            connection = Connection.get("db")
            print("print", connection.password)
            os.system(f"echo echo {connection.password}")
            return [Variable.get("name"), connection.host]
        ask()
        """
    )
    workload = rig.queue("ask")
    finish = rig.end_of(workload)
    assert finish["outcome"] == "success", finish["error"]
    assert finish["xcoms"][0]["value"] == '["a value","example.org"]'
    assert [one["op"] for one in rig.execution.requests] == ["get_connection", "get_variable"]
    assert all(one["task_instance_id"] == workload["task_instance_id"] for one in rig.execution.requests)
    texts = [line["text"] for line in rig.log(workload)]
    assert "print ***" in texts
    assert "echo ***" in texts
    assert not any("swordfish" in text for text in texts)


def test_prints_logging_and_output_of_programs_are_log_lines(rig: Rig) -> None:
    rig.dag(
        """
        import logging
        @task
        def talk():
            print("from print")
            print("no line end", end="")
            sys.stderr.write("from stderr\\n")
            logging.getLogger("mine").warning("from %s", "logging")
            program = ["sh", "-c", "echo from a program; echo its error >&2"]
            subprocess.run(program, stdout=sys.stdout, stderr=sys.stderr)
            sys.stdout.buffer.write(b"from the buffer\\n")
        talk()
        """
    )
    workload = rig.queue("talk")
    assert rig.end_of(workload)["outcome"] == "success"
    lines = {(line["source"], line["level"], line["text"], line.get("logger")) for line in rig.log(workload)}
    assert lines >= {
        ("stdout", "info", "from print", None),
        ("stdout", "info", "no line end", None),
        ("stderr", "error", "from stderr", None),
        ("task", "warning", "from logging", "mine"),
        ("stdout", "info", "from a program", None),
        ("stderr", "info", "its error", None),
        ("stdout", "info", "from the buffer", None),
    }


def test_random_numbers_differ_between_attempts(rig: Rig) -> None:
    rig.dag("import random\n@task\ndef draw():\n    return random.random()\ndraw()")
    assert len({value_of(rig, "draw") for _ in range(3)}) == 3


def test_a_running_task_costs_little_memory_beyond_its_template(rig: Rig) -> None:
    rig.dag(PIDS)
    workload = rig.queue("hold")
    (path,) = wait_until(lambda: list(rig.home.glob("holding-*")))
    own = _private_kib(int(path.name.removeprefix("holding-")))
    assert own < 5 * 1024
    (rig.home / "release").touch()
    rig.end_of(workload)


def _private_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private"))
