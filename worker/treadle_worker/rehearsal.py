"""Tasks that are run for practice, before anything is forked: an empty one in the zygote, others in templates.

A forked child pays for every memory page that it writes first and for every module that it loads first. After the
practice the interpreter's caches are warm and what the task runtime loads on demand is there, in pages that all
templates and children share: about a quarter less CPU for each attempt. Nothing of it can be seen from outside.
"""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Mapping
from typing import Any, Final

from treadle import DAG, collection, task
from treadle_worker.child import run_one
from treadle_worker.frames import FrameStream, Message
from treadle_worker.protocol import RunFacts, Workload

_TIMES: Final = 12
"""CPython 3.11 specialises a function's code after eight calls."""

NAME: Final = "rehearsal"
"""The name of whatever is rehearsed."""


def rehearse() -> list[str]:
    """Run an empty task a few times in this process; return what it came to."""
    # What tasks load on need that have outlets or take all of their context: 5 ms that each of them would pay.
    importlib.import_module("treadle.runtime.asset_events")
    collection.begin()
    with DAG(NAME) as dag:
        task(task_id=NAME)(_nothing)()
    collection.begin()
    return run_through(dag)


def run_through(dag: DAG, journal: Mapping[str, Any] | None = None) -> list[str]:
    """Run the task of ``dag`` a few times in this process, its log thrown away, and return what it came to.

    ``journal`` is what comes with the start of a transactional task.
    """
    environment = dict(os.environ)
    mine, theirs = socket.socketpair()
    outcomes = []
    try:
        with mine, theirs:
            stream, reports = FrameStream(mine), FrameStream(theirs)
            for _ in range(_TIMES):
                run_one(stream, _order(), lambda _: {NAME: dag}, None if journal is None else dict(journal))
                finish = reports.receive()
                outcomes.append(str(finish and finish.get("outcome")))
    finally:
        # Whatever goes wrong: the tasks that are forked afterwards have the environment from here.
        os.environ.clear()
        os.environ.update(environment)
    return outcomes


def _nothing() -> int:
    return 1


def _order() -> Message:
    moment = "2000-01-01T00:00:00+00:00"
    facts: RunFacts = {
        "run_id": NAME,
        "run_type": "manual",
        "logical_date": moment,
        "data_interval_start": moment,
        "data_interval_end": moment,
        "run_after": moment,
        "start_date": moment,
        "conf": {},
        "triggered_by": NAME,
        "clear_number": 0,
    }
    # With its type, so that what is missing one day is noticed: a rehearsal that fails warms little, and says nothing.
    workload: Workload = {
        "attempt_id": NAME,
        "task_instance_id": 0,
        "month": "2000-01-01",
        "dag_id": NAME,
        "task_id": NAME,
        "map_index": -1,
        "try_number": 1,
        "max_tries": 0,
        "file": "rehearsal.py",
        "file_hash": "",
        "version": "",
        "queue": "default",
        "pool": "default_pool",
        "isolation": "process",
        "execution_timeout_seconds": None,
        "executor_config": {},
        "log_path": "",
        "run": facts,
    }
    return {"kind": "run", "workload": workload, "log": os.devnull, "limits": {}, "go": True, "last": True}
