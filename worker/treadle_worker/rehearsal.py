"""A task that the zygote runs for practice, before it forks anything.

A forked child pays for every memory page that it writes first and for every module that it loads first. After the
practice the interpreter's caches are warm and what the task runtime loads on demand is there, in pages that all
templates and children share: about a quarter less CPU for each attempt. Nothing of it can be seen from outside.
"""

from __future__ import annotations

import importlib
import os
import socket
from typing import Any, Final

from treadle import DAG, collection, task
from treadle_worker.child import run_one
from treadle_worker.frames import FrameStream, Message

_TIMES: Final = 12
"""CPython 3.11 specialises a function's code after eight calls."""


def rehearse() -> None:
    """Run an empty task a few times in this process, its reports and its log thrown away."""
    environment = dict(os.environ)
    # What tasks load on need that have outlets or take all of their context: 5 ms that each of them would pay.
    importlib.import_module("treadle.runtime.asset_events")
    collection.begin()
    with DAG("rehearsal") as dag:
        task(_nothing)()
    collection.begin()
    mine, theirs = socket.socketpair()
    with mine, theirs:
        stream = FrameStream(mine)
        for _ in range(_TIMES):
            run_one(stream, _order(), lambda _: {"rehearsal": dag})
            theirs.recv(65536)
    os.environ.clear()
    os.environ.update(environment)


def _nothing() -> int:
    return 1


def _order() -> Message:
    facts: dict[str, Any] = {
        "run_id": "rehearsal",
        "run_type": "manual",
        "logical_date": "2000-01-01T00:00:00+00:00",
        "data_interval_start": "2000-01-01T00:00:00+00:00",
        "data_interval_end": "2000-01-01T00:00:00+00:00",
        "run_after": "2000-01-01T00:00:00+00:00",
        "start_date": "2000-01-01T00:00:00+00:00",
        "conf": {},
        "triggered_by": "rehearsal",
        "clear_number": 0,
    }
    workload = {
        "attempt_id": "rehearsal",
        "task_instance_id": 0,
        "month": "2000-01-01",
        "dag_id": "rehearsal",
        "task_id": "_nothing",
        "map_index": -1,
        "try_number": 1,
        "max_tries": 0,
        "file": "rehearsal.py",
        "run": facts,
    }
    return {"kind": "run", "workload": workload, "log": os.devnull, "limits": {}, "go": True, "last": False}
