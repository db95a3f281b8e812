"""``treadle worker``: takes attempts from the database's queue and has them run by this machine's runner host.

It takes no more than it has room for, and is woken by the database. Its children hold no credential: they reach it
through the runner host, as below the local executor. Told to stop, it hands back what it runs, free of charge; killed,
its attempts are found by their leases and run elsewhere.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg
from sqlalchemy.exc import DBAPIError

from treadle_executors.batches import Answers, Batch, ExecutionUnavailable
from treadle_executors.execution_api import AnswersTogether, DatabaseExecution, ExecutionApi
from treadle_executors.executor import ExecutorEvent
from treadle_executors.left_attempts import HeldAttempts
from treadle_executors.local import LocalExecutor
from treadle_executors.transactional.giving_up import give_up
from treadle_metadata.claims import claim_work
from treadle_metadata.connection import Database
from treadle_metadata.endings import read_order
from treadle_metadata.settings import Settings
from treadle_metadata.work import CALLBACKS, WORK
from treadle_worker.outcomes import Place, error_of, handed_back, report_of_error
from treadle_worker.protocol import FinishReport, Request, Workload
from treadle_worker.task_log import timestamp

log = logging.getLogger(__name__)

_CALLBACKS: Final = 4
"""Callbacks that are taken at a time."""

_TRIES: Final = 5
_PAUSE: Final = 0.2
_ENDED: Final = "a person or another process ended it"


class Worker:
    """Runs attempts of some queues, at most ``slots`` at once."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        queues: Sequence[str],
        slots: int,
        execution: ExecutionApi | None = None,
    ) -> None:
        self._database = database
        self._queues = list(queues)
        self._slots = slots
        self._poll_seconds = settings.heartbeat_seconds
        self._execution = execution or DatabaseExecution(database, settings, notifies=True)
        self._lock = threading.Lock()
        self._held: dict[str, Workload] = {}
        self._started: set[str] = set()
        self._ending: set[str] = set()
        """Those of ``_held`` whose end is being recorded: nothing of them runs, so the next ones may be taken."""
        self._stopping = threading.Event()
        self._look = threading.Event()
        self._may_be_more = True
        """Whether the queue may hold what there was no room for: then a slot that is free again is a reason to look."""
        self._callbacks_wait = True
        """Whether callbacks may be in the queue: then a look is worth it though no slot is free."""
        watched = _Watched(self._execution, self._begin, self._ends, self._over)
        self._engine = LocalExecutor(database, settings, watched)
        # What it holds until its end is recorded; how many run is decided here.
        self._engine.slots = 2 * slots
        self._lease_seconds = settings.lease_seconds
        self._noted = HeldAttempts(settings.database_url)
        self._engine.on_host = self._noted.runs_below
        self._listener = threading.Thread(target=self._listen, name="worker-listener", daemon=True)

    @property
    def host_pid(self) -> int | None:
        """The process id of the runner host."""
        return self._engine.host_pid

    def run(self) -> None:
        """Take and run attempts until :meth:`stop`; then hand back what is not over."""
        self._engine.start(self._settle)
        self._listener.start()
        if self._noted.left:
            given = (self._noted.left, self._database, self._stopping, self._lease_seconds)
            threading.Thread(target=give_up, args=given, name="worker-left", daemon=True).start()
        try:
            while not self._stopping.is_set():
                self._look.clear()
                if not self._take() and not self._look.wait(self._poll_seconds):
                    self._callbacks_wait = True
        finally:
            self._stopping.set()
            self._engine.end()
            self._settle()
            self._noted.close()

    def stop(self) -> None:
        """Take nothing more and end."""
        self._stopping.set()
        self._look.set()

    def _take(self) -> bool:
        """Take what there is room for; tell whether there may be more of it."""
        if self._engine.host_pid is None:
            return False  # Another worker's host runs it sooner than one that has yet to start.
        self._may_be_more = True  # as long as this looks: a slot that gets free meanwhile is not in what it asks for
        with self._lock:
            running = self._held.keys() - self._ending
            free = self._slots - sum("callback" not in self._held[one] for one in running)
        wanted, self._callbacks_wait = self._callbacks_wait, False
        if free <= 0 and not wanted:
            return False
        try:
            texts = self._database.run_each(
                # Callbacks need no slot.
                lambda connection: claim_work(connection, self._queues, tasks=max(free, 0), callbacks=_CALLBACKS)
            )
        except DBAPIError as error:
            log.warning("the queue cannot be read, trying again: %s", error.orig)
            self._callbacks_wait = True
            self._stopping.wait(_PAUSE)
            return False
        workloads: list[Workload] = [json.loads(text) for text in texts]
        callbacks = sum("callback" in one for one in workloads)
        self._may_be_more = free <= 0 or len(workloads) - callbacks >= free
        with self._lock:
            # Of one that was delivered again nothing begins, so that nothing ends either: its slot is free still.
            again = any(one["attempt_id"] in self._held for one in workloads)
            self._held |= {one["attempt_id"]: one for one in workloads}
        self._noted.add(workloads)
        self._engine.queue(workloads)
        if callbacks == _CALLBACKS:
            self._callbacks_wait = True
        return again or callbacks == _CALLBACKS

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._database.listen((WORK,)) as connection:
                    self._callbacks_wait = True
                    self._look.set()
                    self._hear(connection)
            except psycopg.Error as error:
                if not self._stopping.wait(_PAUSE):
                    log.warning("lost the database connection that listens, connecting again: %s", error)

    def _hear(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        while not self._stopping.is_set():
            for notice in connection.notifies(timeout=1.0, stop_after=1):
                if notice.payload in ("", CALLBACKS):
                    if notice.payload == CALLBACKS:
                        self._callbacks_wait = True
                    self._look.set()
                    continue
                with suppress(ValueError):
                    attempt_id, why = read_order(notice.payload)
                    self._engine.terminate(attempt_id, why or _ENDED)

    def _begin(self, attempt_ids: Collection[str]) -> None:
        self._started.update(attempt_ids)
        self._noted.began(attempt_ids)

    def _ends(self, attempt_ids: set[str]) -> None:
        """Give the slots of attempts away, whose processes have said how they ended."""
        with self._lock:
            self._ending |= self._held.keys() & attempt_ids
        if self._may_be_more:
            self._look.set()

    def _over(self, attempt_ids: Iterable[str]) -> None:
        with self._lock:
            for one in attempt_ids:
                self._held.pop(one, None)
                self._started.discard(one)
                self._ending.discard(one)
        self._noted.over(attempt_ids)
        if self._may_be_more:
            self._look.set()

    def _settle(self) -> None:
        """Report what the engine knows of attempts that cannot report themselves: lost, refused or handed back."""
        for event in self._engine.events():
            with self._lock:
                workload = self._held.get(str(event.attempt_id))
            if workload is not None:
                has_started = str(event.attempt_id) in self._started
                self._report(_end_of(workload, event, has_started=has_started))
            self._over([str(event.attempt_id)])
        self._look.set()

    def _report(self, report: FinishReport) -> None:
        for _ in range(_TRIES):
            try:
                self._execution.record(Batch(finishes=[report]))
                return
            except ExecutionUnavailable as error:
                log.warning("the end of attempt %s cannot be reported yet: %s", report["attempt_id"], error)
                self._stopping.wait(_PAUSE)
        log.error("the end of attempt %s is left to its lease", report["attempt_id"])


class _Watched:
    """The Execution API, telling which attempts end, and which are over once that is recorded."""

    def __init__(
        self,
        execution: ExecutionApi,
        began: Callable[[Collection[str]], None],
        ends: Callable[[set[str]], None],
        over: Callable[[Iterable[str]], None],
    ) -> None:
        self._execution = execution
        self._began = began
        self._ends = ends
        self._over = over

    def record(self, batch: Batch) -> Answers:
        """Tell of the ends in a batch, record it, then tell what is over by that: refused starts, too."""
        if batch.finishes:
            self._ends({one["attempt_id"] for one in batch.finishes})
        answers = self._execution.record(batch)
        self._began([one["attempt_id"] for one in answers.starts if one["accepted"]])
        ended = [one["attempt_id"] for one in batch.finishes]
        ended += [one["attempt_id"] for one in answers.starts if not one["accepted"]]
        if ended:
            self._over(ended)
        return answers

    def answer(self, request: Request) -> Any:
        """Pass a question on."""
        return self._execution.answer(request)

    def answer_together(self, requests: Sequence[Request]) -> list[Any]:
        """Pass questions on."""
        if isinstance(self._execution, AnswersTogether):
            return self._execution.answer_together(requests)
        return [self._execution.answer(one) for one in requests]


def _end_of(workload: Workload, event: ExecutorEvent, *, has_started: bool) -> FinishReport:
    now = timestamp()
    error = error_of("lost", "WorkerLost", event.reason)
    if event.kind == "rejected":
        error = error_of("protocol", "WorkloadRefused", event.reason)
    report = report_of_error(workload, Place(socket.gethostname(), None, now, now), error)
    # What was lost before it began is the same try again, as below the local executor.
    is_free = event.kind == "handed_back" or (event.kind == "lost" and not has_started)
    return handed_back(report, event.reason) if is_free else report
