"""The zygote and the templates: processes that have imported something and fork on the host's order.

``python -m treadle_worker.zygote FD CONFIG`` is exec'ed by the host with its scrubbed environment, so it never shared
memory with a credential. It imports the SDK's task runtime and no user code. For each DAG file version it forks a
template, which imports that file once and then forks one child per attempt. A template whose import fails says why
and ends; one whose import left threads running says so and ends, and the zygote's own children import the file instead.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from treadle_worker.child import serve_attempts
from treadle_worker.config import HostConfig
from treadle_worker.forker import Forker, Order
from treadle_worker.loading import DagFileError, LoadedFile, load_dag_file
from treadle_worker.protocol import Workload
from treadle_worker.rehearsal import rehearse
from treadle_worker.system import drop_power_to_trace, threads_of_this_process

_STALE_CHECK_SECONDS: Final = 0.5


def main(arguments: list[str]) -> None:
    """Serve as the zygote on descriptor ``arguments[0]``."""
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    config = HostConfig.from_text(arguments[1])
    drop_power_to_trace()
    sys.path.insert(0, config.dags_folder)

    def template(order: Order, descriptors: list[int]) -> None:
        serve_template(socket.socket(fileno=descriptors[0]), order["file"], config, order.get("stored"))

    def child(_: Order, descriptors: list[int]) -> None:
        def find_dags(workload: Workload) -> Mapping[str, Any]:
            signal.signal(signal.SIGALRM, _import_took_too_long)
            signal.setitimer(signal.ITIMER_REAL, config.import_seconds)
            try:
                return load_dag_file(workload["file"], config.dags_folder, workload.get("source")).dags
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)

        serve_attempts(descriptors, find_dags)

    rehearse()
    gc.collect()
    gc.freeze()
    Forker(control, {"template": template, "child": child}).serve()


def _import_took_too_long(*_: object) -> None:
    raise DagFileError("the import of the DAG file exceeded its time limit (setting parse_timeout_seconds)")


def serve_template(control: socket.socket, file: str, config: HostConfig, stored: str | None = None) -> None:
    """Import ``file``, then fork a child per order. Returns when the host lets go of this template.

    ``stored`` is the path of the text that stands for the file's own, of an older version of it.
    """
    forker = Forker(control, {"child": lambda _, descriptors: serve_attempts(descriptors, lambda _: loaded.dags)})
    try:
        source = None if stored is None else Path(stored).read_text(encoding="utf-8")
        loaded = load_dag_file(file, config.dags_folder, source)
    except BaseException as error:
        text = "".join(traceback.format_exception(error.__cause__ or error))
        forker.report({"failed": str(error), "type": type(error).__name__, "traceback": text})
        forker.send_reports()
        return
    if _threads_stay():
        forker.report({"threads": True})
        forker.send_reports()
        return
    _rehearse_what_is_loaded()
    gc.collect()
    gc.freeze()
    forker.refuse = _Staleness(loaded).reason
    forker.report({"ready": True, "code_hash": loaded.code_hash})
    forker.send_reports()
    forker.serve()


def _rehearse_what_is_loaded() -> None:
    """Run a transactional task for practice, if the file has such tasks: a first one takes five times the processor."""
    if {"treadle.operators.transaction", "psycopg"} <= sys.modules.keys():
        # Loaded on need, in the templates of such files.
        with contextlib.suppress(Exception):
            importlib.import_module("treadle_worker.rehearsed_transaction").rehearse_transaction()


def _threads_stay() -> bool:
    """Tell whether a fork would lose threads. Libraries that end their threads before a fork (OpenBLAS) are fine."""
    if threads_of_this_process() == 1:
        return False
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return threads_of_this_process() > 1


class _Staleness:
    """Notices that the DAG file, or a module that it imports from the dags folder, was edited.

    The file's hash names the template, but it is the scheduler's, who may not have read the newest file yet.
    """

    def __init__(self, loaded: LoadedFile) -> None:
        self._loaded = loaded
        self._checked = time.monotonic()
        self._reason: str | None = None

    def reason(self) -> str | None:
        """Return why this template must not be used any more, or None.

        Looks at the DAG file each time, at the modules, which may be many, twice a second at most.
        """
        if self._reason is None:
            now = time.monotonic()
            modules_too = now - self._checked > _STALE_CHECK_SECONDS
            if modules_too:
                self._checked = now
            self._reason = self._loaded.changed(modules_too=modules_too)
        return self._reason


if __name__ == "__main__":
    main(sys.argv[1:])
