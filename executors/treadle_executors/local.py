"""The local executor: attempts run below a runner host on the scheduler's machine.

The scheduler's thread hands attempts over; one thread reads the host's reports, records whatever has gathered in one
transaction, and answers; another answers tasks' questions, so that they do not wait behind finishes. If the host dies,
its attempts are reported lost and another is started. If the scheduler dies, the host sees its socket end and ends.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from datetime import date
from typing import Final, Literal
from uuid import UUID

from treadle_executors.environment import CONNECTIONS, VARIABLES, scrubbed, secrets_of
from treadle_executors.execution_api import Answers, DatabaseExecution, ExecutionApi
from treadle_executors.executor import Executor, ExecutorEvent, rejection
from treadle_executors.host_process import HostProcess
from treadle_executors.log_sending import sending_of
from treadle_executors.questions import Questions
from treadle_executors.recorder import Recorder, gathered
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.config import HostConfig
from treadle_worker.frames import BrokenPeer, Message
from treadle_worker.protocol import Workload
from treadle_worker.workloads import problem_of

log = logging.getLogger(__name__)

_STOPPED: Final = "the scheduler was stopped"
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
_STABLE_SECONDS: Final = 5.0
"""A host that lived this long was no failed start: the next one is started without delay."""

_SECONDS_BEYOND_GRACE: Final = 5.0
_SECONDS_TO_START: Final = 30.0
"""A host that has not said a word by then will not; later it is silent for a lease at most."""


class LocalExecutor(Executor):
    """Runs attempts on this machine, at most ``settings.parallelism`` at once."""

    name = "local"

    def __init__(self, database: Database, settings: Settings, execution: ExecutionApi | None = None) -> None:
        super().__init__(database, settings)
        self.slots = settings.parallelism
        self._execution: ExecutionApi = execution or DatabaseExecution(database, settings)
        self._lock = threading.Lock()
        self._held: dict[str, Workload] = {}
        self._backlog: dict[str, Workload] = {}
        self._callbacks: set[str] = set()
        """Those held or waiting that are callbacks, not attempts of tasks."""
        self._events: list[ExecutorEvent] = []
        self._host: HostProcess | None = None
        self._on_event: Callable[[], None] = lambda: None
        self.on_host: Callable[[int], None] = lambda _: None
        """Told the pid of each runner host before it is given anything."""
        self._stopping = threading.Event()
        self._sending = sending_of(settings)
        self._recorder = Recorder(self._execution, settings.lease_seconds, self._stopping)
        self._questions = Questions(self._execution, settings.lease_seconds, self._stopping)
        self._thread = threading.Thread(target=self._serve, name="local-executor", daemon=True)

    def start(self, on_event: Callable[[], None]) -> None:
        """Start the host and the threads."""
        self._on_event = on_event
        self._host = self._new_host()
        self._sending.start()
        self._questions.start()
        self._thread.start()

    @property
    def host_pid(self) -> int | None:
        """The process id of the runner host; None while there is none."""
        host = self._host
        return None if host is None else host.pid

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Take attempts over. One that it holds already changes nothing; beyond ``slots`` they wait here."""
        rejected = False
        with self._lock:
            for workload in workloads:
                attempt_id = workload.get("attempt_id")
                if attempt_id in self._held or attempt_id in self._backlog:
                    continue
                problem = problem_of(workload)
                if problem is None:
                    self._backlog[workload["attempt_id"]] = workload
                    # Before the host can write: what the file has by now is of an earlier attempt of the same try.
                    month = date.fromisoformat(workload["month"])
                    self._sending.follow(workload["attempt_id"], workload["log_path"], month)
                    if "callback" in workload:
                        self._callbacks.add(workload["attempt_id"])
                else:
                    rejected |= self._reject(attempt_id, problem)
            self._hand_over()
        if rejected:
            self._on_event()

    def _reject(self, attempt_id: object, problem: str) -> bool:
        event = rejection(attempt_id, problem)
        if event is not None:
            self._events.append(event)
        return event is not None

    def _hand_over(self) -> None:
        """Give the host what it has room for. The caller holds the lock."""
        if self._host is None or not self._backlog:
            return
        handed: list[Workload] = []
        # Callbacks take no slots of tasks, which may be held for hours. The scheduler hands few over at a time.
        for attempt_id in self._callbacks & self._backlog.keys():
            self._held[attempt_id] = self._backlog.pop(attempt_id)
            handed.append(self._held[attempt_id])
        while self._backlog and len(self._held) - len(self._callbacks) < self.slots:
            attempt_id = next(iter(self._backlog))
            workload = self._backlog.pop(attempt_id)
            self._held[attempt_id] = workload
            handed.append(workload)
        if handed:
            self._recorder.begin([workload["attempt_id"] for workload in handed])
            self._host.send({"kind": "run", "workloads": handed})

    def events(self) -> list[ExecutorEvent]:
        """Return what happened since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return events

    def terminate(self, attempt_id: UUID, reason: str) -> None:
        """End an attempt's processes; one that the host does not have yet is dropped."""
        with self._lock:
            if self._backlog.pop(str(attempt_id), None) is not None:
                self._callbacks.discard(str(attempt_id))
                self._sending.over([str(attempt_id)])
            if str(attempt_id) in self._held and self._host is not None:
                self._host.send({"kind": "terminate", "attempt_id": str(attempt_id), "reason": reason})

    def adopt(self, attempt_ids: Iterable[UUID]) -> set[UUID]:
        """Return those that this executor holds. A dead scheduler's local host died with it."""
        with self._lock:
            return {one for one in attempt_ids if str(one) in self._held or str(one) in self._backlog}

    def end(self) -> None:
        """End all attempts, the host and the threads; no process stays."""
        self._stopping.set()
        limit = self.settings.terminate_grace_seconds + _SECONDS_BEYOND_GRACE
        with self._lock:
            self._events += [ExecutorEvent("handed_back", UUID(one), _STOPPED) for one in self._backlog]
            self._sending.over(self._backlog)
            self._backlog.clear()
            host = self._host
            if host is not None:
                host.send({"kind": "shutdown", "reason": _STOPPED})
        if self._thread.ident is not None:
            self._thread.join(limit)
        with self._lock:
            host, self._host = self._host, None
        if host is not None:
            host.end(_SECONDS_BEYOND_GRACE)
            self._thread.join()
            host.close()
        self._questions.end()
        self._sending.end()

    def _serve(self) -> None:
        pause = _FIRST_PAUSE
        while self._host is not None:
            host, began = self._host, time.monotonic()
            reason = self._converse(host)
            code = host.end(_SECONDS_BEYOND_GRACE)
            if self._stopping.is_set():
                self._give_up(_STOPPED, "handed_back")
                return
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self._give_up(f"the runner host (pid {host.pid}) {how}{reason}")
            host.close()
            pause = _FIRST_PAUSE if time.monotonic() - began > _STABLE_SECONDS else min(pause * 2, _LONGEST_PAUSE)
            if self._stopping.wait(pause):
                return
            with self._lock:
                self._host = self._new_host()
                self._hand_over()
            self._on_event()

    def _converse(self, host: HostProcess) -> str:
        """Serve one host until it is gone; return what is known about why."""
        patience = _SECONDS_TO_START
        while True:
            try:
                messages = host.receive(patience)
            except BrokenPeer as error:
                return f" after it sent something unreadable: {error}"
            if messages is None:
                return ""
            if not messages:
                # Stopped, or hanging: what it runs is rescued when its lease is over, so it must not go on then.
                host.kill()
                return f" after it had said nothing for {patience:g} s"
            patience = self.settings.lease_seconds
            self._take(host, messages)

    def _take(self, host: HostProcess, messages: list[Message]) -> None:
        batch, questions = gathered(messages)
        for question in questions:
            self._questions.ask(question, host)
        if not batch:
            return
        answers, events = self._recorder.record(batch, host)
        if answers.starts:
            host.send({"kind": "answers", "items": answers.starts})
        renewed = answers.ours - answers.unsure
        if renewed:
            items = [
                {"attempt_id": one["attempt_id"], "asked_at": one["asked_at"]}
                for one in batch.heartbeats
                if one["attempt_id"] in renewed
            ]
            host.send({"kind": "renewed", "items": items})
        lost = [one["attempt_id"] for one in batch.heartbeats if one["attempt_id"] not in answers.ours]
        self._settle(host, answers, {one["attempt_id"] for one in batch.finishes}, lost)
        if events:
            with self._lock:
                self._events += events
        # Accepted or not: of one whose first answer was lost, this is all that tells the scheduler.
        if batch.finishes or events:
            self._on_event()

    def _settle(self, host: HostProcess, answers: Answers, finished: set[str], lost: list[str]) -> None:
        refused = {one["attempt_id"] for one in answers.starts if not one["accepted"]}
        with self._lock:
            for attempt_id in finished | refused:
                self._held.pop(attempt_id, None)
                self._callbacks.discard(attempt_id)
            self._recorder.forget(finished | refused)
            self._sending.over(finished | refused)
            lost = [one for one in lost if one in self._held]
            self._hand_over()
        for attempt_id in lost:
            reason = "the attempt is no longer this host's: it was cleared, marked, or taken over"
            host.send({"kind": "terminate", "attempt_id": attempt_id, "reason": reason})

    def _give_up(self, reason: str, kind: Literal["lost", "handed_back"] = "lost") -> None:
        with self._lock:
            self._host = None if not self._stopping.is_set() else self._host
            lost, self._held = list(self._held), {}
            self._callbacks &= self._backlog.keys()
            self._recorder.forget(lost)
            self._sending.over(lost)
            self._events += [ExecutorEvent(kind, UUID(one), reason) for one in lost]
        if lost:
            log.error("%d attempts are %s: %s", len(lost), kind.replace("_", " "), reason)
        self._on_event()

    def _new_host(self) -> HostProcess:
        settings = self.settings
        config = HostConfig(
            dags_folder=str(settings.path("dags_folder")),
            logs_folder=str(settings.path("logs_folder")),
            hostname=socket.gethostname(),
            tasks_per_child=settings.tasks_per_child,
            templates_per_host=settings.templates_per_host,
            import_seconds=settings.parse_timeout_seconds,
            grace_seconds=settings.terminate_grace_seconds,
            renewal_seconds=settings.lease_renewal_seconds,
            lease_seconds=settings.lease_seconds,
            xcom_max_bytes=settings.xcom_max_bytes,
        )
        host = HostProcess(config, scrubbed(os.environ, secrets_of(settings), kept=(VARIABLES, CONNECTIONS)))
        self.on_host(host.pid)
        return host
