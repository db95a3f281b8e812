"""The one attempt of this process: its child, its lease and its reports, on one event loop.

The child is spawned at once and imports the SDK while the start is reported; it runs user code only when the server
has agreed. It gets no token: this process hides its memory, and the child's environment is scrubbed. When this process
is killed the child's socket ends and the server finds the attempt by its lease, or by what the cluster says of the pod.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from treadle.runtime import masking
from treadle_executors.http_execution import HttpExecution
from treadle_executors.log_shipping import LogShipping
from treadle_executors.single.reporter import Reporter
from treadle_worker.attempts import Attempt
from treadle_worker.event_loop import EventLoop
from treadle_worker.frames import Message
from treadle_worker.learnt import keep_secret
from treadle_worker.leases import Leases
from treadle_worker.outcomes import Cause, Exit, Place, report_of_child, report_of_exit
from treadle_worker.protocol import FinishReport, StartAnswer, Workload
from treadle_worker.runner import Runner
from treadle_worker.system import kill_group
from treadle_worker.task_log import TaskLog, timestamp
from treadle_worker.workloads import subject_of

_SECONDS_FOR_THE_CLUSTER: Final = 2.0
"""Told to stop, this waits so long with its report: who ended the pod (a deadline, an eviction) is known elsewhere."""

_LONGEST_SILENCE: Final = 300.0
"""Seconds that the server may be away at the start and at the end."""

_STOPPED: Final = "its pod was told to stop: it was deleted, its node is being drained, or its time was over"


@dataclass(frozen=True, slots=True)
class Terms:
    """What the attempt runs under. Folders are absolute, durations in seconds; ``environment`` is the child's."""

    dags_folder: str
    logs_folder: str
    hostname: str
    import_seconds: float
    grace_seconds: float
    renewal_seconds: float
    lease_seconds: float
    xcom_max_bytes: int
    environment: Mapping[str, str]


class SingleAttempt:
    """Runs ``workload`` to its end; ``run`` returns whether its end was recorded, ``outcome`` what it was."""

    def __init__(self, workload: Workload, execution: HttpExecution, shipping: LogShipping, terms: Terms) -> None:
        self._loop = EventLoop()
        self._terms = terms
        self._execution = execution
        self._shipping = shipping
        self.grace_seconds = terms.grace_seconds
        log = TaskLog(os.path.join(terms.logs_folder, workload["log_path"]), masking.mask)
        self._attempt = Attempt(workload, timestamp(), log, shared=False)
        self._reporter = Reporter(self._loop, execution, self, _LONGEST_SILENCE)
        self._leases = Leases(self._loop, terms.lease_seconds, terms.grace_seconds, self._unrenewed)
        self._runner = Runner(self._loop, self, 0)
        self._report: FinishReport | None = None
        self._report_after = 0.0
        self._is_gone = False
        self._is_refused = False
        self._is_recorded = False

    @property
    def outcome(self) -> str:
        """How it ended: an outcome of the protocol, or ``refused``, or ``unknown``."""
        if self._is_refused:
            return "refused"
        return "unknown" if self._report is None else self._report["outcome"]

    def run(self) -> bool:
        """Run it; tell whether the server knows its end."""
        self._spawn()
        self._reporter.open()
        workload = self._attempt.workload
        self._leases.ask(self._attempt.id)
        self._reporter.start(
            {
                "attempt_id": self._attempt.id,
                "task_instance_id": workload["task_instance_id"],
                "month": workload["month"],
                "hostname": self._terms.hostname,
                "started_at": self._attempt.started_at,
                "subject": subject_of(workload),
            }
        )
        self._loop.later(self._terms.renewal_seconds, self._beat)
        self._loop.run()
        return self._is_recorded

    def stop(self) -> None:
        """End the attempt, since this process was told to end; may be called by a signal's handler."""
        self._reporter.tell(self._stop)

    def _stop(self) -> None:
        self._report_after = self._loop.now() + _SECONDS_FOR_THE_CLUSTER
        self._end(_STOPPED)

    def _end(self, reason: str) -> None:
        if not self._is_gone:
            self._runner.stop(Cause.TERMINATED, reason, self.grace_seconds if self._attempt.accepted else 0)

    def _spawn(self) -> None:
        """Exec the child, with nothing of this process but its three descriptors."""
        descriptors = self._runner.open()
        for one in descriptors:
            os.set_inheritable(one, True)
        command = [sys.executable, "-m", "treadle_worker.single_child", *map(str, descriptors)]
        command += [self._terms.dags_folder, str(self._terms.import_seconds)]
        pid = os.posix_spawn(sys.executable, command, self._terms.environment, setpgroup=0, setsigmask=())
        for one in descriptors:
            os.close(one)
        limits = {"xcom_max_bytes": self._terms.xcom_max_bytes}
        self._runner.forked(pid)
        self._runner.give(self._attempt, go=False, last=True, limits=limits)
        ended = os.pidfd_open(pid)
        self._loop.watch(ended, lambda _: self._reap(ended, pid))

    def _reap(self, ended: int, pid: int) -> None:
        self._loop.forget(ended)
        os.close(ended)
        # While it is a zombie its group id cannot be another's.
        kill_group(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        self._is_gone = True
        self._runner.exited(Exit(status, round(usage.ru_utime + usage.ru_stime, 6), usage.ru_maxrss * 1024))
        if self._is_refused:
            self._loop.stop()

    # What the server says (``single.reporter.Heard``).

    def answered(self, answer: StartAnswer) -> None:
        """Let the child run, or end without having run anything."""
        attempt = self._attempt
        if not answer["accepted"]:
            self._is_refused = True
            self._runner.attempt = None
            print(f"attempt {attempt.id} is not run: {answer['reason']}", file=sys.stderr, flush=True)
            if self._is_gone:
                self._loop.stop()
            self._runner.stop(Cause.TERMINATED, "", 0)
            return
        if not self._leases.accept(attempt.id):
            self._end("its start was answered only when its lease was over")
            return
        attempt.accepted = True
        seconds = attempt.workload["execution_timeout_seconds"]
        if seconds is not None:
            attempt.timers.append(self._loop.later(seconds + self.grace_seconds, lambda: self._overdue(seconds)))
        self._runner.go(self._leases.end_of(attempt.id))

    def renewed(self, attempt_id: str, asked_at: float) -> None:
        """The lease goes on, and the log is sent with the new token."""
        self._leases.renew(attempt_id, asked_at)
        self._shipping.renew(attempt_id, self._execution.token_of(attempt_id))

    def disowned(self) -> None:
        """Another owns the task by now, or a person has ended it."""
        if self._report is None:
            self._end("the attempt is no longer this pod's: it was cleared, marked, or taken over")

    def recorded(self, *, was_taken: bool) -> None:
        """The end is said: nothing is left to do."""
        self._is_recorded = was_taken
        self._loop.stop()

    def _overdue(self, seconds: float) -> None:
        reason = (
            f"execution_timeout of {seconds:g} s was exceeded, and the task did not stop within "
            f"{self.grace_seconds:g} s after; its processes were killed"
        )
        self._runner.stop(Cause.TIMEOUT, reason, 0)

    def _unrenewed(self, _: str) -> None:
        self._end(f"its lease of {self._terms.lease_seconds:g} s was not renewed: the server did not answer")

    def _beat(self) -> None:
        if self._report is None:
            workload = self._attempt.workload
            self._reporter.beat(
                {
                    "attempt_id": self._attempt.id,
                    "task_instance_id": workload["task_instance_id"],
                    "month": workload["month"],
                    "asked_at": self._loop.now(),
                    "subject": subject_of(workload),
                }
            )
            self._loop.later(self._terms.renewal_seconds, self._beat)

    # What the child says (``treadle_worker.runner.Owner``).

    def finished(self, runner: Runner, attempt: Attempt, message: Message) -> None:
        """The child reported its result."""
        report = report_of_child(attempt.workload, self._place(runner.pid, message), message)
        if report["error"] is not None and report["error"]["kind"] == "terminated" and attempt.reason:
            # The child knows only that it was sent a signal.
            report["error"]["message"] += f": {attempt.reason}"
        self._finish(report)

    def ended(self, runner: Runner, attempt: Attempt | None, end: Exit) -> None:
        """The child is gone; with ``attempt``, without having reported."""
        if attempt is None:
            return
        report = report_of_exit(attempt.workload, self._place(runner.pid, {}), end, attempt.cause, attempt.reason)
        error = report["error"]
        if error is not None:
            attempt.log.write("error", "treadle", error["message"])
        self._finish(report)

    def asked(self, runner: Runner, attempt: Attempt, message: Message) -> None:
        """The child asks something; the server answers."""

        def reply(said: dict[str, Any]) -> None:
            keep_secret(message, said.get("result"))
            runner.reply({"kind": "reply", "id": message.get("id"), **said})

        workload = attempt.workload
        self._reporter.ask(
            {
                "id": 0,
                "attempt_id": attempt.id,
                "task_instance_id": workload["task_instance_id"],
                "month": workload["month"],
                "op": str(message.get("op")),
                "args": message.get("args") or {},
            },
            reply,
        )

    def _finish(self, report: FinishReport) -> None:
        attempt = self._attempt
        attempt.cancel_timers()
        self._leases.forget(attempt.id)
        self._report = report
        if attempt.cause is Cause.TERMINATED:
            self._loop.later(self._report_after - self._loop.now(), lambda: self._reporter.finish(report))
        else:
            self._reporter.finish(report)

    def _place(self, pid: int | None, message: Message) -> Place:
        ended_at = message.get("ended_at")
        moment = ended_at if isinstance(ended_at, str) else timestamp()
        return Place(self._terms.hostname, pid, self._attempt.started_at, moment)
