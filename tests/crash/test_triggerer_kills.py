"""Triggerers that are killed again and again: every wait ends, each task goes on once, and nothing is cancelled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.deferring import deferral
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.triggering import Site, site, told
from tests.support.waiting import wait_until

from treadle.document import TaskDocument
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

TASKS = 60


def triggerer(here: Site) -> subprocess.Popen[bytes]:
    """Start a triggerer as standalone does."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "TREADLE_TRIGGERER_TOKEN": here.token,
        "TREADLE_EXECUTION_URL": here.url,
        "TREADLE_DAGS_FOLDER": str(here.settings.path("dags_folder")),
    }
    command = [sys.executable, "-m", "treadle_triggerer"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


def test_each_task_goes_on_once_however_many_triggerers_are_killed(
    own_database: Database, settings: Settings, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"

    def outcome(workload: Any) -> dict[str, Any]:
        if "resume" in workload:
            return {"outcome": "failed" if workload["resume"]["error"] else "success"}
        kwargs = {"notes": str(notes), "name": workload["task_id"]}
        return deferral(classpath="tests.support.noting.Noting", kwargs=json.dumps(kwargs))

    quick = replace(settings, lease_seconds=2.0, database_url=own_database.url)
    with site(own_database, quick) as here:
        scheduler = TestScheduler(own_database, here.settings, SystemClock(), outcome)  # type: ignore[arg-type]
        scheduler.install(a_dag("d", *(TaskDocument(f"t{number}", "Operator") for number in range(TASKS))))
        scheduler.trigger("d")
        scheduler.beats()
        running = [triggerer(here), triggerer(here)]
        try:
            for kill in range(4):
                wait_until(lambda: here.select("SELECT FROM trigger WHERE owner IS NOT NULL LIMIT 1"), 30)
                for number in range(kill * TASKS // 4, (kill + 1) * TASKS // 4):
                    (tmp_path / f"go-t{number}").touch()
                victim = running.pop(0)
                victim.send_signal(signal.SIGKILL)
                victim.wait()
                running.append(triggerer(here))

            def is_over() -> bool:
                scheduler.beats()
                return not here.select("SELECT FROM dag_run WHERE state = 'running'")

            wait_until(is_over, 60)
        finally:
            for one in running:
                one.terminate()
            for one in running:
                one.wait(30)
        assert set(scheduler.task_states(scheduler._select("SELECT run_id FROM dag_run")[0]["run_id"]).values()) == {
            "success"
        }
        resumed = Counter(one["task_id"] for one in scheduler.executor.taken if "resume" in one)
        assert resumed == Counter({f"t{number}": 1 for number in range(TASKS)})
        assert [one for one in told(notes) if one["what"] == "cancelled"] == []
        assert here.select("SELECT FROM trigger") == []
