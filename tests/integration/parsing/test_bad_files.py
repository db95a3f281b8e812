"""Files that misbehave (the bad input of the issue): a clear error each, nothing else harmed."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.parsing import Parsed, dag_text, running
from tests.support.waiting import wait_until

from treadle_metadata.clock import SystemClock
from treadle_scheduler.parsing import processor, zygote_process
from treadle_worker.system import children_of

HEAD = "import os, signal, subprocess, sys, time\nfrom treadle import DAG\n"

BAD: Mapping[str, tuple[str, str, int | None]] = {
    # file: its text after the head, words of its error, its line
    "syntax.py": ("def broken(:\n", "SyntaxError", 3),
    "loop.py": ("x = 0\nwhile True:\n    x += 1\n", "after 1 s", None),
    "stubborn.py": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass\n",
        "after 1 s",
        6,
    ),
    "regex.py": ("import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')\n", "after 1 s", None),
    "memory.py": ("\nhoard = bytearray(2 * 1024 ** 3)\n", "more than 512 MB", 4),
    "exits.py": ("os._exit(7)\n", "exit code 7", None),
    "silent.py": ("os._exit(0)\n", "exit code 0", None),
    "segfault.py": ("os.kill(os.getpid(), signal.SIGSEGV)\n", "11 (SIGSEGV)", None),
    "killed.py": ("os.kill(os.getpid(), signal.SIGKILL)\n", "SIGKILL", None),
    "sysexit.py": ("sys.exit('enough')\n", "sys.exit('enough')", 3),
    "talks.py": ("for fd in range(3, 30):\n    try:\n        os.write(fd, b'x' * 99)\n    except OSError:\n"
                 "        pass\nos._exit(0)\n", "talks.py", None),
    "noise.py": ("for _ in range(200):\n    os.write(1, b'noise' * 20_000)\nraise ValueError('after noise')\n",
                 "after noise", 5),
    "long_id.py": ("DAG('a' * 10_000)\n", "10000 characters", 3),
    "nul_id.py": ("DAG('a\\0b')\n", "\\x00", 3),
    "path_id.py": ("DAG('../../etc')\n", "'../../etc'", 3),
    "emoji_id.py": ("DAG('\N{FIRE}')\n", "\\U0001f525", 3),
    "huge_message.py": ("raise ValueError('x\\0' * 1_000_000)\n", "characters left out", 3),
}  # fmt: skip


@pytest.fixture
def strict(parsed: Parsed) -> Parsed:
    """Small limits."""
    parsed.settings = replace(parsed.settings, parse_timeout_seconds=1.0, parse_memory_mb=512)
    return parsed


def test_every_bad_file_has_its_own_error_and_the_good_ones_are_there(strict: Parsed) -> None:
    for name, (text, _, _) in BAD.items():
        strict.write(name, HEAD + text)
    strict.write("good.py", dag_text("good"))
    with running(strict):
        errors = {name: strict.wait_for_error(name) for name in BAD}
        strict.wait_for_dag("good")
        for name, (_, words, line) in BAD.items():
            error = errors[name]
            assert words in error["message"], error
            assert error["message"].startswith(name), error
            assert line is None or error["line"] == line, error
            assert len(error["message"]) + len(error["stacktrace"]) < 200_000
        assert "more than 512 MB" not in errors["loop.py"]["message"]
        assert errors["loop.py"]["line"] in (4, 5)
        assert "noise" in errors["noise.py"]["stacktrace"]
        assert "bytes left out" in errors["noise.py"]["stacktrace"]
        strict.write("good.py", dag_text("good", "description='still working'"))
        strict.wait_for_dag("good", description="still working")
    assert strict.select("SELECT dag_id FROM dag") == [{"dag_id": "good"}]


def _processes_with(mark: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def test_a_fork_bomb_is_killed_with_all_its_processes(strict: Parsed) -> None:
    strict.settings = replace(strict.settings, parse_timeout_seconds=20.0)
    # Bounded, so that a failing test harms nobody: no more than 600 processes, each for no more than 30 s.
    strict.write(
        "bomb.py",
        HEAD + "for _ in range(600):\n    if os.fork() == 0:\n        time.sleep(30)\n        os._exit(0)\n"
        "time.sleep(30)\nDAG('d')\n",
    )
    strict.write("good.py", dag_text("good"))
    with running(strict, {"PATH": "/usr/bin:/bin", "MARK": "bomb-of-the-test"}):
        # A busy machine takes its time to start, count and kill hundreds of processes.
        strict.wait_for_error("bomb.py", "more than 200 processes", 30.0)
        strict.wait_for_dag("good")
        # What is left is the zygote.
        wait_until(lambda: len(_processes_with("MARK=bomb-of-the-test")) <= 1, 20.0)


def test_processes_that_a_file_leaves_behind_are_killed(strict: Parsed) -> None:
    strict.write(
        "a.py",
        HEAD + "subprocess.Popen(['sleep', '1000'])\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "x = DAG('d')\n",
    )
    with running(strict, {"PATH": "/usr/bin:/bin", "MARK": "left-behind"}):
        strict.wait_for_dag("d")
        wait_until(lambda: len(_processes_with("MARK=left-behind")) <= 1)


def test_a_slow_file_delays_no_other_and_its_costly_lines_are_named(parsed: Parsed) -> None:
    """Case G1."""
    parsed.write("slow.py", HEAD + "\ntime.sleep(0.8)\ndef work():\n    time.sleep(0.7)\nwork()\nslow = DAG('slow')\n")
    with running(parsed):
        parsed.write("quick.py", dag_text("quick"))
        parsed.wait_for_dag("quick")
        assert parsed.dag("slow") is None
        row = parsed.wait_for_dag("slow")
        assert row["parse_seconds"] >= 1.5
        message = parsed.warnings("slow")["slow import"]
        assert "line 4 (" in message
        assert "line 7 (" in message
        assert "line 6" not in message


def test_a_zygote_that_is_killed_is_replaced(live: Parsed) -> None:
    live.write("a.py", dag_text("a"))
    live.wait_for_dag("a")
    (zygote,) = (pid for pid in children_of(os.getpid()) if _is_zygote(pid))
    os.kill(zygote, signal.SIGKILL)
    live.write("a.py", dag_text("a", "description='new'"))
    live.wait_for_dag("a", description="new")


def test_a_zygote_that_cannot_start_is_started_again_after_ever_longer_waits(
    parsed: Parsed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(zygote_process, "FIRST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(zygote_process, "LONGEST_WAIT_SECONDS", 0.04)
    broken = tmp_path / "half an upgrade" / "treadle"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('half an upgrade')\n")
    parsed.write("a.py", dag_text("a"))

    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records if "zygote" in record.getMessage()]

    with running(parsed, {"PYTHONPATH": str(broken.parent)}):
        wait_until(lambda: len(told()) >= 4)
        # Other parts go on meanwhile.
        path = parsed.write("b.py", dag_text("b"))
        broken.rename(broken.with_name("mended"))
        parsed.wait_for_dag("a")
        parsed.wait_for_dag("b")
        path.unlink()
        parsed.wait_for_dag("b", is_active=False)
    assert [line.rpartition(" in ")[2] for line in told()[:4]] == ["0.01 s", "0.02 s", "0.04 s", "0.04 s"]
    assert told()[0].startswith("the parse zygote ended (exit code 1: ImportError: half an upgrade)")
    assert parsed.select("SELECT * FROM import_error") == []


def test_a_processor_that_cannot_read_the_database_says_so_and_leaves_no_process(
    parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise LookupError("no catalog")

    monkeypatch.setattr(processor, "load_catalog", refuse)
    with pytest.raises(LookupError, match="no catalog"):
        processor.Processor(parsed.database, SystemClock(), parsed.settings, {"PATH": "/usr/bin:/bin"}).run()
    assert not [pid for pid in children_of(os.getpid()) if _is_zygote(pid)]


def _is_zygote(pid: int) -> bool:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"treadle_scheduler.parsing.zygote" in file.read()


def test_a_document_that_the_database_refuses_harms_only_its_file(strict: Parsed) -> None:
    strict.write("a.py", HEAD + "x = DAG('forged')\nx.max_active_runs = 2 ** 40\n")
    long_name = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9FFF), k=1500)))
    strict.write("b.py", HEAD + f"from treadle import Asset\nx = DAG('long', schedule=Asset({long_name!r}))\n")
    strict.write("good.py", dag_text("good"))
    with running(strict):
        assert "cannot be stored" in strict.wait_for_error("a.py")["message"]
        assert "cannot be stored" in strict.wait_for_error("b.py")["message"]
        strict.wait_for_dag("good")
