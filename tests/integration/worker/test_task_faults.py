"""What a task can do to its own process, and what the report says then (issue 2, bad input and faults)."""

from __future__ import annotations

import signal
from uuid import UUID

import pytest
from tests.integration.worker.conftest import Rig
from tests.support.processes import processes_with
from tests.support.waiting import wait_until


def kind_and_message(rig: Rig, task_id: str, **changes: object) -> tuple[str, str]:
    finish = rig.run(task_id, **changes)
    assert finish["outcome"] == "failed"
    assert finish["error"] is not None
    return finish["error"]["kind"], finish["error"]["message"]


@pytest.mark.parametrize("code", [0, 3])
def test_an_exit_behind_pythons_back_is_a_failure_that_names_the_code(rig: Rig, code: int) -> None:
    rig.dag(f"@task\ndef leave():\n    os._exit({code})\nleave()")
    workload = rig.queue("leave")
    finish = rig.end_of(workload)
    assert (finish["outcome"], finish["exit_code"]) == ("failed", code)
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "exit"
    assert f"exit code {code}" in finish["error"]["message"]
    assert finish["error"]["message"] in [line["text"] for line in rig.log(workload)]


def test_sys_exit_is_told_apart_from_a_crash(rig: Rig) -> None:
    rig.dag("@task\ndef leave():\n    sys.exit(5)\nleave()")
    finish = rig.run("leave")
    assert (finish["outcome"], finish["exit_code"]) == ("failed", 5)
    assert finish["error"] is not None
    assert (finish["error"]["kind"], finish["error"]["type"]) == ("exit", "SystemExit")


def test_a_kill_by_nobody_of_ours_is_probably_out_of_memory(rig: Rig) -> None:
    rig.dag("@task\ndef die():\n    os.kill(os.getpid(), signal.SIGKILL)\ndie()")
    finish = rig.run("die")
    assert finish["signal"] == signal.SIGKILL
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "out_of_memory"
    assert "killed by signal 9" in finish["error"]["message"]
    assert "MiB" in finish["error"]["message"]
    assert finish["peak_rss_bytes"] is not None
    assert finish["peak_rss_bytes"] > 2**20


def test_a_segmentation_fault_is_named(rig: Rig) -> None:
    rig.dag("@task\ndef die():\n    os.kill(os.getpid(), signal.SIGSEGV)\ndie()")
    assert kind_and_message(rig, "die") == ("signal", "the task process was killed by signal 11 (SIGSEGV)")


def test_a_task_that_ignores_sigterm_is_killed_after_the_grace(rig: Rig) -> None:
    rig.dag(
        """
        @task
        def stubborn():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            pathlib.Path(HOME, "ready").touch()
            time.sleep(600)
        stubborn()
        """
    )
    workload = rig.queue("stubborn")
    wait_until((rig.home / "ready").exists)
    rig.executor.terminate(UUID(workload["attempt_id"]), "a person ended it")
    finish = rig.end_of(workload)
    assert finish["signal"] == signal.SIGKILL
    assert finish["error"] is not None
    assert finish["error"]["kind"] == "terminated"
    assert "a person ended it" in finish["error"]["message"]


def test_a_task_that_overstays_its_time_limit_is_killed_by_the_host(rig: Rig) -> None:
    rig.dag(
        """
        @task(execution_timeout=timedelta(seconds=0.2))
        def stubborn():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            time.sleep(600)
        stubborn()
        """
    )
    kind, message = kind_and_message(rig, "stubborn", execution_timeout_seconds=0.2)
    assert kind == "timeout"
    assert "execution_timeout of 0.2 s" in message


def test_a_task_that_closes_its_socket_is_told_so(rig: Rig) -> None:
    rig.dag("@task\ndef close():\n    os.closerange(3, 256)\nclose()")
    kind, message = kind_and_message(rig, "close")
    assert kind == "protocol"
    assert "closed its connection" in message


def test_a_task_that_closes_its_socket_and_stays_is_killed(rig: Rig) -> None:
    rig.dag("@task\ndef close():\n    os.closerange(3, 256)\n    time.sleep(600)\nclose()")
    assert kind_and_message(rig, "close")[0] == "protocol"


def test_processes_that_a_task_leaves_behind_are_killed(rig: Rig) -> None:
    rig.dag(
        """
        @task
        def leave():
            subprocess.Popen(LEFT)
            subprocess.Popen(LEFT, start_new_session=True)
            subprocess.Popen(LEFT, start_new_session=True, stdout=-3, stderr=-3)
            if os.fork() == 0:
                os.setsid()
                os.execvp("tail", LEFT)
        leave()
        """
    )
    assert rig.run("leave")["outcome"] == "success"
    wait_until(lambda: not rig.left_behind())


def test_a_daemon_of_a_running_task_is_left_alone_when_another_task_is_cleaned_up(rig: Rig) -> None:
    rig.dag(
        """
        @task
        def tunnel():
            subprocess.run(["setsid", "-f", *LEFT, "--pid=1"])
            while not pathlib.Path(HOME, "release").exists():
                time.sleep(0.01)

        @task
        def leave():
            subprocess.Popen(LEFT + ["-s1"], start_new_session=True)
        tunnel(), leave()
        """
    )
    daemon, left = f"tail -f {rig.home}/dags/one.py --pid=1", f"tail -f {rig.home}/dags/one.py -s1"
    workload = rig.queue("tunnel")
    wait_until(lambda: processes_with(daemon))
    rig.run("leave")
    wait_until(lambda: not processes_with(left))
    assert processes_with(daemon)
    (rig.home / "release").touch()
    rig.end_of(workload)
    wait_until(lambda: not processes_with(daemon))


def test_a_fork_bomb_ends_with_its_task(rig: Rig) -> None:
    rig.dag(
        """
        @task
        def bomb():
            for _ in range(6):
                os.fork()
            time.sleep(600)
        bomb()
        """
    )
    kind, _ = kind_and_message(rig, "bomb", execution_timeout_seconds=0.5)
    assert kind == "timeout"
    host_zygote_and_template = 3
    wait_until(lambda: len(processes_with(str(rig.home))) == host_zygote_and_template)


def test_a_result_of_50_mb_is_refused_with_a_clear_error(rig: Rig) -> None:
    rig.dag("@task\ndef big():\n    return 'x' * 50_000_000\nbig()")
    kind, message = kind_and_message(rig, "big")
    assert kind == "exception"
    assert "50" in message


def test_a_result_of_15_mb_arrives(rig: Rig) -> None:
    rig.dag("@task\ndef big():\n    return 'x' * 15_000_000\nbig()")
    assert len(rig.run("big")["xcoms"][0]["value"]) == 15_000_002


def test_a_flood_of_output_neither_stops_the_task_nor_holds_up_others(rig: Rig) -> None:
    rig.dag(
        """
        @task
        def flood():
            block = (b"y" * 99 + b"\\n") * 10_000
            pathlib.Path(HOME, "flooding").touch()
            for _ in range(20):
                os.write(1, block)

        @task
        def quick():
            pass
        flood(), quick()
        """
    )
    flood = rig.queue("flood")
    wait_until((rig.home / "flooding").exists)
    assert rig.run("quick")["outcome"] == "success"
    assert flood["attempt_id"] not in rig.execution.finishes
    assert rig.end_of(flood)["outcome"] == "success"
    texts = [line["text"] for line in rig.log(flood) if line["source"] == "stdout"]
    assert len(texts) == 200_000
    assert set(texts) == {"y" * 99}


def test_a_long_line_comes_in_marked_pieces(rig: Rig) -> None:
    rig.dag("@task\ndef long():\n    os.write(1, b'z' * 150_000 + b'\\n')\n    print('a' * 70_000)\nlong()")
    workload = rig.queue("long")
    rig.end_of(workload)
    lines = [line for line in rig.log(workload) if line["source"] == "stdout"]
    raw = [line for line in lines if line["text"].startswith("z")]
    assert [(len(line["text"]), line.get("continued", False)) for line in raw] == [
        (65536, False),
        (65536, True),
        (150_000 - 2 * 65536, True),
    ]
    printed = [line for line in lines if line["text"].startswith("a")]
    assert [(len(line["text"]), line.get("continued", False)) for line in printed] == [(65536, False), (4464, True)]


def test_a_task_that_ends_when_it_is_told_to_stop_says_why_it_was(rig: Rig) -> None:
    rig.dag(
        """
        @task
        def obedient():
            pathlib.Path(HOME, "ready").touch()
            time.sleep(600)
        obedient()
        """
    )
    workload = rig.queue("obedient")
    wait_until((rig.home / "ready").exists)
    for reason in ("its run was marked failed", "the attempt is no longer this host's"):
        rig.executor.terminate(UUID(workload["attempt_id"]), reason)
    error = rig.end_of(workload)["error"]
    assert error is not None
    assert error["kind"] == "terminated"
    assert error["message"] == "the task was told to stop (SIGTERM): its run was marked failed"
    said = [line["text"] for line in rig.log(workload) if line["source"] == "treadle"]
    assert said == ["the attempt is to be ended: its run was marked failed"]
