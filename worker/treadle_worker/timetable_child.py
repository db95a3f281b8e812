"""Evaluates custom timetables: user code, in a process that never held a credential.

``python -m treadle_worker.timetable_child FD CONFIG`` is exec'ed with a scrubbed environment by
``treadle_executors.timetables``. It imports the one module, file or entry point that it is for, says so, and then
answers one question at a time, as lines of JSON. It ends when the other side lets go of the socket, when an answer
takes too long, and when what it imported was edited.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from types import ModuleType
from typing import Any

from treadle.timetables import custom
from treadle.timetables.adapted import AdaptedTimetable
from treadle.timetables.planning import Plan, Situation, plan
from treadle.timetables.remote import info_json, interval_json, interval_of, moment_of, restriction_of, text_of
from treadle_worker.loading import load_dag_file, module_name
from treadle_worker.system import drop_power_to_trace

Json = Any


class Home:
    """Where the classes come from: one module, file or entry point, and the files of the dags folder it imported."""

    def __init__(self, how: str, where: str, folder: str) -> None:
        self._how, self._where, self._folder = how, where, folder
        self._module: ModuleType | None = None
        self._kind: Any = None
        if how == "entry":
            (found,) = metadata.entry_points(group=custom.GROUP, name=where)
            self._kind = found.load()
        elif how == "module":
            self._module = importlib.import_module(where)
        else:
            load_dag_file(where, folder)
            self._module = sys.modules[module_name(where)]
        self._states = dict(self._imported())

    def timetable(self, qualified: str, data: str) -> AdaptedTimetable:
        """Return the timetable of this class, from what its ``serialize()`` gave."""
        kind: Any = self._kind or self._module
        for part in qualified.split(".") if qualified else ():
            kind = getattr(kind, part)
        return AdaptedTimetable(custom.deserialized(kind, data))

    def is_stale(self) -> bool:
        """Return True if a file that was imported has changed; what was imported since is noted."""
        now = dict(self._imported())
        stale = any(now.get(path, state) != state for path, state in self._states.items())
        self._states = now | self._states
        return stale

    def _imported(self) -> Iterator[tuple[str, tuple[int, int] | None]]:
        prefix = self._folder.rstrip(os.sep) + os.sep
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path.startswith(prefix):
                yield path, _state(path)


def answer(home: Home, asked: Json) -> Json:
    """Return the answer to one question, ``{"ok": ...}`` or ``{"error": ...}``."""
    try:
        timetable = home.timetable(asked["qualified"], asked["data"])
        return {"ok": _ASKED[asked["ask"]](timetable, asked)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:2000]}


def _situation(at: Json) -> Situation:
    moments = {name: moment_of(at[name]) if at.get(name) else None for name in ("resumed_at", "held_since")}
    last = interval_of(at["last"]) if at["last"] else None
    return Situation(moment_of(at["now"]), last, skips=bool(at.get("skips")), **moments)


def _next(timetable: AdaptedTimetable, asked: Json) -> Json:
    at = _situation(asked["at"])
    return info_json(
        timetable.next_dagrun_info(
            last_automated_data_interval=at.last, restriction=restriction_of(asked["restriction"]), now=at.now
        )
    )


def _plan(timetable: AdaptedTimetable, asked: Json) -> Json:
    found: Plan = plan(timetable, restriction_of(asked["restriction"]), _situation(asked["at"]))
    return {
        "due": info_json(found.due),
        "following": info_json(found.following),
        "last": interval_json(found.last),
        "missed": [
            {name: value if name in ("slots", "reason") else text_of(value) for name, value in asdict(one).items()}
            for one in found.missed
        ],
    }


def _manual(timetable: AdaptedTimetable, asked: Json) -> Json:
    return interval_json(timetable.infer_manual_data_interval(run_after=moment_of(asked["run_after"])))


_ASKED = {"next": _next, "plan": _plan, "manual": _manual}


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _serve(control: socket.socket, config: Json) -> None:
    lines = control.makefile("r", encoding="utf-8")

    def send(message: Json) -> None:
        control.sendall(json.dumps(message).encode() + b"\n")

    # Without a handler the signal ends the process, in whatever code it hangs: nobody may be left to kill it.
    signal.alarm(int(config["start_seconds"]) + 1)
    try:
        home = Home(config["how"], config["where"], config["folder"])
    except Exception as error:
        send({"error": f"{config['where']} cannot be loaded: {error}"[:2000]})
        return
    signal.alarm(0)
    send({"ok": True})
    for line in lines:
        if home.is_stale():
            send({"stale": True})
            return
        signal.alarm(int(config["answer_seconds"]) + 1)
        message = answer(home, json.loads(line))
        signal.alarm(0)
        send(message)


def main(arguments: list[str]) -> None:
    """Serve on descriptor ``arguments[0]``."""
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    config = json.loads(arguments[1])
    drop_power_to_trace()
    most = config["memory_mb"] * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.path.insert(0, config["folder"])
    sys.dont_write_bytecode = True
    _serve(control, config)


if __name__ == "__main__":
    main(sys.argv[1:])
