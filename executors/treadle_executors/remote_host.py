"""A runner host on a worker machine: runs attempts as the local executor does, and reports for them over HTTP.

Held by whatever brings attempts to the machine (a Celery worker). It has no database: the attempts' tokens are all it
knows the server by, and they never reach the host or its children. When it is killed, its children end with it, and the
server finds its attempts by their leases.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, cast
from uuid import UUID

from treadle_executors.errors import HostEndsError
from treadle_executors.execution_api import Answers, Batch, ExecutionUnavailable
from treadle_executors.executor import ExecutorEvent
from treadle_executors.http_execution import HttpExecution
from treadle_executors.local import LocalExecutor
from treadle_executors.log_shipping import LogShipping
from treadle_executors.log_spool import LogSpool
from treadle_metadata.connection import Database
from treadle_metadata.errors import MetadataError
from treadle_metadata.settings import Settings
from treadle_worker.outcomes import Place, error_of, handed_back, report_of_error
from treadle_worker.protocol import FinishReport, Request, Workload
from treadle_worker.task_log import timestamp
from treadle_worker.workloads import problem_of

log = logging.getLogger(__name__)

_IDENTITY: Final[Mapping[str, type]] = {"attempt_id": str, "task_instance_id": int, "month": str}
_TRIES: Final = 5
_PAUSE: Final = 0.2


class RemoteHost:
    """Runs attempts of this machine, at most ``slots`` at once; ``run`` returns when one is over."""

    def __init__(self, settings: Settings, execution: HttpExecution, slots: int) -> None:
        self._execution = execution
        self._lock = threading.Lock()
        self._under_way: dict[str, tuple[Workload, threading.Event]] = {}
        self._stopping = threading.Event()
        self._ending = threading.Lock()
        self._taking = threading.Lock()
        """Held while an attempt is taken over, so that ``end`` finds it either with the engine or not taken at all."""
        self._shipping = LogShipping(execution)
        # Logs are written into a folder of this process's own, never over those that the server keeps.
        self._spool = LogSpool()
        # The server sends them on to a remote store, so that no worker machine needs its credentials.
        own = replace(settings, logs_folder=self._spool.folder, remote_logs="")
        # Whatever the engine would ask of a database goes through the Execution API instead.
        self._engine = LocalExecutor(cast("Database", None), own, _Watched(execution, self._shipping, self._over))
        self._engine.slots = slots

    def start(self) -> None:
        """Start the runner host and the shipping of logs."""
        self._shipping.start()
        self._engine.start(self._settle)

    def resize(self, slots: int) -> None:
        """Run up to ``slots`` attempts at once from now on."""
        self._engine.slots = slots

    def run(self, workload: Workload, token: str) -> bool:
        """Run an attempt to its end; False at once if it is under way here already (a message that came twice).

        Raises:
            HostEndsError: this host takes nothing any more; another may have the attempt at once.
        """
        problem = problem_of(workload)
        if problem is not None:
            self._refuse(workload, token, problem)
            return True
        attempt_id, over = workload["attempt_id"], threading.Event()
        with self._taking:
            if self._stopping.is_set():
                raise HostEndsError(attempt_id)
            with self._lock:
                if attempt_id in self._under_way:
                    return False
                self._under_way[attempt_id] = workload, over
            self._execution.hold(attempt_id, token)
            self._shipping.follow(attempt_id, self._spool.folder / workload["log_path"], token)
            self._engine.queue([workload])
        over.wait()
        return True

    def _refuse(self, workload: Mapping[str, Any], token: str, problem: str) -> None:
        """Report that an attempt cannot run here, as long as its message says at least which it is."""
        log.error("a message was refused: %s", problem)
        if all(isinstance(workload.get(name), kind) for name, kind in _IDENTITY.items()):
            self._execution.hold(workload["attempt_id"], token)
            event = ExecutorEvent("rejected", UUID(workload["attempt_id"]), problem)
            self._report(_end_of(cast("Workload", workload), event))

    def terminate(self, attempt_id: UUID, reason: str) -> None:
        """End an attempt's processes, if it runs here."""
        self._engine.terminate(attempt_id, reason)

    def end(self) -> None:
        """Hand back what runs here, free of charge, and release every resource; a second call does nothing."""
        with self._ending:
            if self._stopping.is_set():
                return
            with self._taking:
                self._stopping.set()
            self._engine.end()
            self._settle()
            self._shipping.end()
            self._spool.close()
            with self._lock:
                left = list(self._under_way)
            self._over(left)  # whoever waits for them must not wait for ever; their leases tell the server

    def _over(self, attempt_ids: Iterable[str]) -> None:
        with self._lock:
            found = [self._under_way.pop(one, None) for one in attempt_ids]
        for one in found:
            if one is not None:
                self._shipping.over(one[0]["attempt_id"])
                one[1].set()

    def _settle(self) -> None:
        """Report what the engine knows of attempts that cannot report themselves: lost, refused or handed back."""
        for event in self._engine.events():
            with self._lock:
                held = self._under_way.get(str(event.attempt_id))
            if held is not None:
                self._report(_end_of(held[0], event))
            self._over([str(event.attempt_id)])

    def _report(self, report: FinishReport) -> None:
        for _ in range(_TRIES):
            try:
                self._execution.record(Batch(finishes=[report]))
                return
            except ExecutionUnavailable as error:
                log.warning("the end of attempt %s cannot be reported yet: %s", report["attempt_id"], error)
                self._stopping.wait(_PAUSE)
            except MetadataError as error:
                log.error("the end of attempt %s was refused: %s", report["attempt_id"], error)
                return
        log.error("the end of attempt %s is left to its lease", report["attempt_id"])


class _Watched:
    """The Execution API, telling which attempts are over once that is recorded."""

    def __init__(self, execution: HttpExecution, shipping: LogShipping, over: Callable[[Iterable[str]], None]) -> None:
        self._execution = execution
        self._shipping = shipping
        self._over = over

    def record(self, batch: Batch) -> Answers:
        """Record a batch, then tell of its ends and of the starts that were refused."""
        if any(one["outcome"] == "handed_back" for one in batch.finishes):
            # The same try goes on elsewhere at once, and writes behind what the server has by then.
            self._shipping.flush()
        answers = self._execution.record(batch)
        for attempt_id in answers.ours:
            self._shipping.renew(attempt_id, self._execution.token_of(attempt_id))
        ended = [one["attempt_id"] for one in batch.finishes]
        self._over([*ended, *(one["attempt_id"] for one in answers.starts if not one["accepted"])])
        return answers

    def answer(self, request: Request) -> Any:
        """Pass a question on."""
        return self._execution.answer(request)


def _end_of(workload: Workload, event: ExecutorEvent) -> FinishReport:
    now = timestamp()
    if event.kind == "rejected":
        error = error_of("protocol", "WorkloadRefused", event.reason)
    else:
        error = error_of("lost", "WorkerLost", event.reason)
    report = report_of_error(workload, Place(socket.gethostname(), None, now, now), error)
    return handed_back(report, event.reason) if event.kind == "handed_back" else report
