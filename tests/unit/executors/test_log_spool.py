"""The folder of logs of a worker: its own, gone with it, and found by the next one if it was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from treadle_executors.log_spool import LogSpool

HOLD = """
import os, signal, sys
from pathlib import Path
from treadle_executors.log_spool import LogSpool
spool = LogSpool(Path(sys.argv[1]))
(spool.folder / "a.jsonl").write_text("a line")
print(spool.folder, flush=True)
signal.pause()
"""


def folders(parent: Path) -> list[Path]:
    return [one for one in parent.iterdir() if one.is_dir()]


def test_a_folder_goes_with_its_worker(tmp_path: Path) -> None:
    spool = LogSpool(tmp_path)
    (spool.folder / "deep").mkdir()
    assert folders(tmp_path) == [spool.folder]
    spool.close()
    assert folders(tmp_path) == []


def test_the_folder_of_a_worker_that_lives_stays_and_that_of_one_that_was_killed_goes(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        theirs = Path(worker.stdout.readline().strip())
        first = LogSpool(tmp_path)
        assert theirs.exists()
        worker.kill()
    second = LogSpool(tmp_path)
    assert sorted(folders(tmp_path)) == sorted([first.folder, second.folder])
    first.close()
    second.close()


def test_what_is_no_folder_of_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "treadle-logs-link").symlink_to(tmp_path / "other")
    LogSpool(tmp_path).close()
    assert (tmp_path / "other").exists()
    assert (tmp_path / "treadle-logs-link").is_symlink()
