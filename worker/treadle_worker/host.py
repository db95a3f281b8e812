"""The runner host: takes workloads from an executor, has them run in task children, and reports for them.

``python -m treadle_worker.host FD CONFIG`` is exec'ed with a scrubbed environment and one socket to its executor
(``treadle_worker.protocol``). It has one thread, no database and no credential, and runs no user code itself. When the
executor's socket ends it ends every child and itself. When it is killed, the zygote and the templates notice the end
of their sockets and kill the children; the executor then reports the attempts lost.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import Final

from treadle.runtime import masking
from treadle_worker.attempts import Attempt
from treadle_worker.config import HostConfig
from treadle_worker.event_loop import EventLoop
from treadle_worker.frames import Message
from treadle_worker.learnt import keep_secret
from treadle_worker.leases import Leases
from treadle_worker.link import Link
from treadle_worker.outcomes import (
    Cause,
    Exit,
    Place,
    error_of,
    explained,
    handed_back,
    report_of_child,
    report_of_error,
    report_of_exit,
)
from treadle_worker.outgoing import Outgoing
from treadle_worker.protocol import ErrorKind, FinishReport, StartReport, Workload
from treadle_worker.runner import Runner
from treadle_worker.system import adopt_orphans, hide_memory
from treadle_worker.task_log import TaskLog, timestamp
from treadle_worker.template_pool import TemplatePool
from treadle_worker.workloads import subject_of

_IDLE_SECONDS: Final = 10.0
_SECONDS_AFTER_GRACE: Final = 1.0


class Host:
    """All attempts of one host, and what is said about them."""

    def __init__(self, loop: EventLoop, executor: socket.socket, config: HostConfig) -> None:
        self._loop = loop
        self._config = config
        self.grace_seconds = config.grace_seconds
        self._attempts: dict[str, Attempt] = {}
        self._questions: dict[int, tuple[Runner, Attempt, Message]] = {}
        self._last_question = 0
        self._stopping = False
        self.exit_code = 0
        self._link = Link(loop, executor, self._ordered, lambda _: self._stop("the executor is gone"))
        self._outgoing = Outgoing(self._link)
        self._leases = Leases(loop, config.lease_seconds, config.grace_seconds, self._unrenewed)
        self._pool = TemplatePool(loop, self, config, self._broken)
        loop.after_turn = self._after_turn
        loop.later(config.renewal_seconds, self._beat)
        self._outgoing.send({"kind": "hello", "hostname": config.hostname, "pid": os.getpid()})

    def _after_turn(self) -> None:
        self._outgoing.flush()
        if self._stopping and not self._attempts and not self._pool.living:
            self._loop.stop()

    def _ordered(self, message: Message) -> None:
        match message["kind"]:
            case "run":
                for workload in message["workloads"]:
                    self._take(workload)
            case "answers":
                for answer in message["items"]:
                    self._answered(answer)
            case "renewed":
                for item in message["items"]:
                    self._renewed(item["attempt_id"], item["asked_at"])
            case "reply":
                self._replied(message)
            case "terminate":
                self._terminate(message["attempt_id"], message["reason"])
            case "shutdown":
                self._stop(message["reason"], Cause.HANDED_BACK)

    def _take(self, workload: Workload) -> None:
        """Begin an attempt: its start is reported while its child is forked. A known id changes nothing."""
        config = self._config
        if self._stopping or workload["attempt_id"] in self._attempts:
            return
        log = TaskLog(os.path.join(config.logs_folder, workload["log_path"]), masking.mask)
        shared = config.tasks_per_child > 1 or workload["isolation"] == "shared"
        attempt = Attempt(workload, timestamp(), log, shared)
        self._attempts[attempt.id] = attempt
        self._leases.ask(attempt.id)
        start: StartReport = {
            "attempt_id": attempt.id,
            "task_instance_id": workload["task_instance_id"],
            "month": workload["month"],
            "hostname": config.hostname,
            "started_at": attempt.started_at,
            "subject": subject_of(workload),
        }
        if "transaction" in workload:
            start["transaction"] = workload["transaction"]
        self._outgoing.starts.append(start)
        self._pool.place(attempt)

    def _answered(self, answer: Message) -> None:
        attempt = self._attempts.get(answer["attempt_id"])
        if attempt is None or attempt.accepted:
            return
        if not answer["accepted"]:
            self._drop(attempt)
            return
        if not self._leases.accept(attempt.id):
            self._end(attempt, Cause.TERMINATED, "its start was answered only when its lease was over", 0)
            return
        attempt.accepted = True
        attempt.begin_by = self._leases.end_of(attempt.id)
        attempt.journal = answer.get("journal")
        keep_secret({"op": "open_journal"}, attempt.journal)
        seconds = attempt.workload["execution_timeout_seconds"]
        if seconds is not None:
            limit = seconds + self.grace_seconds
            attempt.timers.append(self._loop.later(limit, lambda: self._overdue(attempt, seconds)))
        if attempt.template is not None:
            attempt.template.accepted(attempt)

    def _renewed(self, attempt_id: str, asked_at: float) -> None:
        self._leases.renew(attempt_id, asked_at)
        attempt = self._attempts.get(attempt_id)
        if attempt is not None and attempt.accepted:
            attempt.begin_by = self._leases.end_of(attempt_id)

    def _drop(self, attempt: Attempt) -> None:
        """Forget an attempt that must not run (its start was refused); its code has not begun."""
        del self._attempts[attempt.id]
        self._leases.forget(attempt.id)
        if attempt.runner is not None:
            attempt.runner.attempt = None
            attempt.runner.stop(Cause.TERMINATED, "", 0)
        elif attempt.template is not None:
            attempt.template.withdraw(attempt)

    def _overdue(self, attempt: Attempt, seconds: float) -> None:
        limit, who = ("its limit", "callback") if "callback" in attempt.workload else ("execution_timeout", "task")
        reason = (
            f"{limit} of {seconds:g} s was exceeded, and the {who} did not stop within "
            f"{self.grace_seconds:g} s after; its processes were killed"
        )
        self._end(attempt, Cause.TIMEOUT, reason, 0)

    def _terminate(self, attempt_id: str, reason: str) -> None:
        attempt = self._attempts.get(attempt_id)
        if attempt is None:
            return
        if attempt.accepted and attempt.cause is Cause.NOTHING:
            # Before its process says what becomes of that.
            attempt.log.write("warning", "treadle", f"the attempt is to be ended: {reason}")
        self._end(attempt, Cause.TERMINATED, reason, self.grace_seconds)

    def _unrenewed(self, attempt_id: str) -> None:
        """The executor was not heard in time: another host may take the task over when the lease ends."""
        reason = f"its lease of {self._config.lease_seconds:g} s was not renewed: the executor did not answer"
        self._end(self._attempts[attempt_id], Cause.TERMINATED, reason, self._leases.grace_seconds)

    def _end(self, attempt: Attempt, cause: Cause, reason: str, grace: float) -> None:
        if attempt.runner is not None:
            # A child that still waits for its answer has nothing to tidy up.
            attempt.runner.stop(cause, reason, grace if attempt.accepted else 0)
            return
        if attempt.template is not None:
            attempt.template.withdraw(attempt)
        attempt.cause, attempt.reason = cause, reason
        end = Exit(int(signal.SIGKILL), None, None)
        self._report_error(attempt, report_of_exit(attempt.workload, self._place(attempt, None), end, cause, reason))

    def finished(self, runner: Runner, attempt: Attempt, message: Message) -> None:
        """The child reported the result of ``attempt``."""
        report = report_of_child(attempt.workload, self._place(attempt, runner.pid, message), message)
        self._report(attempt, explained(report, attempt.cause, attempt.reason))
        if not runner.last:
            self._pool.released(runner)

    def ended(self, runner: Runner, attempt: Attempt | None, end: Exit) -> None:
        """The process is gone; ``attempt`` is the one whose result it still owed, if any."""
        if attempt is None:
            return
        report = report_of_exit(attempt.workload, self._place(attempt, runner.pid), end, attempt.cause, attempt.reason)
        self._report_error(attempt, report)

    def failed(self, attempt: Attempt, kind: ErrorKind, name: str, message: str, traceback: str | None = None) -> None:
        """The attempt is over without having run."""
        error = error_of(kind, name, message, traceback)
        self._report_error(attempt, report_of_error(attempt.workload, self._place(attempt, None), error))

    def _report_error(self, attempt: Attempt, report: FinishReport) -> None:
        """Report what the child cannot have logged itself, and log it."""
        error = report["error"]
        if error is not None and attempt.id in self._attempts:
            attempt.log.write("error", "treadle", error["message"], exc=error.get("traceback"))
            attempt.log.close()
        self._report(attempt, report)

    def _report(self, attempt: Attempt, report: FinishReport) -> None:
        if attempt.cause is Cause.HANDED_BACK and "callback" not in attempt.workload:
            report = handed_back(report, attempt.reason)
        attempt.cancel_timers()
        if self._attempts.pop(attempt.id, None) is None:
            return
        self._leases.forget(attempt.id)
        loaded = attempt.template.code_hash if attempt.template is not None else None
        if loaded not in (None, attempt.workload["file_hash"]):
            # The file was edited and used before anybody had read it: what ran is not what the workload says.
            report["code_hash"] = loaded
        self._outgoing.finishes.append(report)
        if not self._attempts:
            masking.MASKER.clear()

    def _place(self, attempt: Attempt, pid: int | None, message: Message | None = None) -> Place:
        ended_at = message.get("ended_at") if message else None
        if not isinstance(ended_at, str):
            ended_at = timestamp()
        return Place(self._config.hostname, pid, attempt.started_at, ended_at)

    def asked(self, runner: Runner, attempt: Attempt, message: Message) -> None:
        """The child asks something for ``attempt``; the executor answers."""
        if attempt.cause is Cause.HANDED_BACK and message.get("op") == "take_callbacks":
            # It did not fail, so there is nobody to call back.
            runner.reply({"kind": "reply", "id": message.get("id"), "result": False})
            return
        self._last_question += 1
        self._questions[self._last_question] = (runner, attempt, message)
        self._outgoing.send(
            {
                "kind": "request",
                "id": self._last_question,
                "attempt_id": attempt.id,
                "task_instance_id": attempt.workload["task_instance_id"],
                "month": attempt.workload["month"],
                "op": message.get("op"),
                "args": message.get("args"),
            }
        )

    def _replied(self, message: Message) -> None:
        runner, attempt, question = self._questions.pop(message["id"])
        if runner.attempt is not attempt:
            return
        keep_secret(question, message.get("result"))
        runner.reply({**message, "id": question.get("id")})

    def _beat(self) -> None:
        for attempt in self._attempts.values():
            self._outgoing.heartbeats.append(
                {
                    "attempt_id": attempt.id,
                    "task_instance_id": attempt.workload["task_instance_id"],
                    "month": attempt.workload["month"],
                    "asked_at": self._loop.now(),
                    "subject": subject_of(attempt.workload),
                }
            )
        self._outgoing.send({"kind": "alive"})
        self._pool.tidy(_IDLE_SECONDS)
        self._loop.later(self._config.renewal_seconds, self._beat)

    def _broken(self) -> None:
        if not self._stopping:
            print("the zygote of the runner host ended; the host ends too", file=sys.stderr, flush=True)
            self.exit_code = 3
            self._pool.kill_all()
            self._loop.stop()

    def _stop(self, reason: str, cause: Cause = Cause.TERMINATED) -> None:
        """Take nothing more, end all attempts, and leave when they are over, or killed after the grace."""
        if self._stopping:
            return
        self._stopping = True
        for attempt in list(self._attempts.values()):
            self._end(attempt, cause, reason, self.grace_seconds)
        self._pool.tidy(-1.0)
        self._loop.later(self.grace_seconds + _SECONDS_AFTER_GRACE, self._loop.stop)

    def close(self) -> None:
        """End every process below, and say the last words."""
        self._pool.close()
        self._outgoing.flush()
        self._link.flush(self.grace_seconds)
        self._link.close()


def main(arguments: list[str]) -> int:
    """Serve the executor on descriptor ``arguments[0]`` until it lets go."""
    hide_memory()
    adopt_orphans()
    executor = socket.socket(fileno=int(arguments[0]))
    executor.set_inheritable(False)
    host = Host(loop := EventLoop(), executor, HostConfig.from_text(arguments[1]))
    try:
        loop.run()
    finally:
        host.close()
    return host.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
