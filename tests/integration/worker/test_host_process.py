"""The executor's end of a runner host."""

from __future__ import annotations

import os
from pathlib import Path

from treadle_executors.host_process import HostProcess
from treadle_worker.config import HostConfig


def test_a_reader_whose_host_was_ended_by_another_thread_sees_that_it_is_gone(tmp_path: Path) -> None:
    """A scheduler that was stopped (SIGSTOP) as it ended: its thread that reads comes late, and must hand back."""
    config = HostConfig(
        dags_folder=str(tmp_path),
        logs_folder=str(tmp_path),
        hostname="h",
        tasks_per_child=1,
        templates_per_host=1,
        import_seconds=5.0,
        grace_seconds=0.1,
        renewal_seconds=1.0,
        lease_seconds=3.0,
        xcom_max_bytes=1000,
    )
    host = HostProcess(config, dict(os.environ))
    host.end(10)
    assert host.receive(5) is None
    host.close()
