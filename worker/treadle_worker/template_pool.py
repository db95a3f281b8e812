"""The zygote and the templates of a host: who is forked from whom, and what their processes report.

The host places attempts here. The pool forks a template from the zygote at the first attempt of a file version, keeps
the most recently used ones, drops those whose file has a new hash, and turns a template's failure into failed
attempts. If the zygote itself ends, the host must end too: ``on_broken``.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Protocol

from treadle_worker.attempts import Attempt
from treadle_worker.config import HostConfig
from treadle_worker.event_loop import EventLoop
from treadle_worker.fork_server import ForkServer
from treadle_worker.outcomes import Cause, Exit
from treadle_worker.protocol import ErrorKind
from treadle_worker.runner import Owner, Runner
from treadle_worker.stored_texts import StoredTexts
from treadle_worker.system import kill_group
from treadle_worker.templates import Key, State, Template

SHARED_BATCH: Final = 100
"""Attempts that a shared child may run when ``tasks_per_child`` says no more."""

_SECONDS_TO_END: Final = 3.0


class PoolOwner(Owner, Protocol):
    """Who hears of attempts that cannot run: the host."""

    def failed(self, attempt: Attempt, kind: ErrorKind, name: str, message: str, traceback: str | None = None) -> None:
        """The attempt is over without having run."""


class TemplatePool:
    """All processes below a host."""

    def __init__(self, loop: EventLoop, owner: PoolOwner, config: HostConfig, on_broken: Callable[[], None]) -> None:
        self.loop = loop
        self.owner: PoolOwner = owner
        self.batch = config.tasks_per_child if config.tasks_per_child > 1 else SHARED_BATCH
        self.limits = {"xcom_max_bytes": config.xcom_max_bytes}
        self._config = config
        self._numbers = itertools.count(1)
        self._by_key: OrderedDict[Key, Template] = OrderedDict()
        self._templates: dict[int, Template] = {}
        self._runners: dict[int, tuple[Template, Runner]] = {}
        self._pids: dict[int, Template | tuple[Template, Runner]] = {}
        self._texts = StoredTexts()
        mine, theirs = _control_pair()
        with theirs:
            self._process = _start_zygote(theirs, config)
        self._zygote = ForkServer(loop, mine, lambda report: self._heard(self._zygote, report), on_broken)

    @property
    def living(self) -> int:
        """How many task children there are."""
        return len(self._runners)

    def place(self, attempt: Attempt) -> None:
        """Find or make the template of ``attempt``, and hand it over."""
        key = (attempt.workload["file"], attempt.workload["file_hash"])
        template = self._by_key.get(key)
        if template is None:
            template = self._new_template(key, attempt.workload.get("source"))
            self._drop_superfluous(template)
        else:
            self._by_key.move_to_end(key)
        template.add(attempt)

    def _new_template(self, key: Key, source: str | None) -> Template:
        template = Template(self, key, next(self._numbers))
        template.is_stored = source is not None
        mine, theirs = _control_pair()
        template.server = ForkServer(
            self.loop, mine, lambda report: self._told(template, report), lambda: self._left(template)
        )
        order = {"do": "template", "spawn": template.number, "file": key[0]}
        if source is not None:
            order["stored"] = self._texts.keep(template.number, source)
        self._templates[template.number] = self._by_key[key] = template
        self._zygote.order(order, [theirs.detach()])
        return template

    def _left(self, template: Template) -> None:
        """The process closed its socket. Why, the zygote's report of its exit tells (``_template_exited``)."""
        if template.state is not State.BARE:
            self._retire(template)

    def _stop_import(self, template: Template) -> None:
        if template.state is not State.IMPORTING:
            return
        template.overtime = True
        if template.pid is not None:
            kill_group(template.pid, signal.SIGKILL)

    def _drop_superfluous(self, newest: Template) -> None:
        for key, template in self._by_key.items():
            # Runs on an older version and on the newest one go on side by side.
            if key[0] == newest.key[0] and template is not newest and not (template.is_stored or newest.is_stored):
                template.superseded = True
        excess = len(self._by_key) - self._config.templates_per_host
        for template in list(self._by_key.values()):
            if template is newest or template.busy:
                continue
            if template.superseded or excess > 0:
                excess -= not template.superseded
                self._retire(template)

    def _retire(self, template: Template) -> None:
        """Give ``template`` no more attempts; its process ends when its last attempt is over."""
        if self._by_key.get(template.key) is template:
            del self._by_key[template.key]
        if template.busy:
            return
        template.dismiss_idle(self.loop.now() + 1)
        template.dismissed = True
        if template.server is not None:
            template.server.close()
        if template.state is State.BARE:
            self._templates.pop(template.number, None)

    def fork(self, template: Template) -> Runner:
        """Order a child from the template's process, or from the zygote when the template is bare."""
        runner = Runner(self.loop, self.owner, next(self._numbers))
        template.runners[runner.number] = runner
        self._runners[runner.number] = (template, runner)
        self._server(template).order({"do": "child", "spawn": runner.number}, runner.open())
        return runner

    def _server(self, template: Template) -> ForkServer:
        if template.state is State.BARE or template.server is None:
            return self._zygote
        return template.server

    def _told(self, template: Template, report: dict[str, Any]) -> None:
        assert template.server is not None
        if "ready" in report:
            template.code_hash = report["code_hash"]
            template.begin(State.READY)
        elif "threads" in report:
            template.begin(State.BARE)
        elif "failed" in report:
            message = f"{template.key[0]} could not be imported: {report['failed']}"
            self._fail_import(template, report["type"], message, report["traceback"])
        else:
            self._heard(template.server, report)

    def _fail_import(self, template: Template, name: str, message: str, traceback: str | None = None) -> None:
        for attempt in template.give_up():
            self.owner.failed(attempt, "import", name, message, traceback)
        self._retire(template)

    def _heard(self, server: ForkServer, report: dict[str, Any]) -> None:
        if "spawned" in report:
            self._spawned(report["spawned"], report["pid"])
        elif "exited" in report:
            for pid, status, cpu_seconds, peak_rss_bytes in report["exited"]:
                self._exited(server, pid, Exit(status, cpu_seconds, peak_rss_bytes))
        elif "refused" in report:
            self._refused(report["refused"])
        elif "unforked" in report:
            self._unforked(report["unforked"], report["reason"])

    def _spawned(self, number: int, pid: int) -> None:
        if number in self._templates:
            template = self._templates[number]
            template.pid = pid
            template.limit = self.loop.later(self._config.import_seconds, lambda: self._stop_import(template))
            self._pids[pid] = template
        elif number in self._runners:
            template, runner = self._runners[number]
            self._pids[pid] = (template, runner)
            template.forked(runner, pid)

    def _exited(self, server: ForkServer, pid: int, end: Exit) -> None:
        found = self._pids.pop(pid, None)
        if isinstance(found, Template):
            self._template_exited(found, end)
        elif found is not None:
            template, runner = found
            self._remove(template, runner)
            if runner.exited(end):
                server.order({"do": "sweep"}, [])

    def _remove(self, template: Template, runner: Runner) -> None:
        self._runners.pop(runner.number, None)
        template.remove(runner)
        if self._by_key.get(template.key) is not template or template.superseded:
            self._retire(template)

    def _template_exited(self, template: Template, end: Exit) -> None:
        if template.state is State.BARE:
            return
        self._templates.pop(template.number, None)
        if template.overtime:
            how = f"the import exceeded {self._config.import_seconds:g} s (setting parse_timeout_seconds)"
        else:
            how = f"its process {describe_end(end.status)}"
        self._fail_import(template, "ImportFailed", f"{template.key[0]} could not be imported: {how}")
        for runner in list(template.runners.values()):
            self._lose(template, runner, f"the template process of {template.key[0]} {describe_end(end.status)}")

    def _lose(self, template: Template, runner: Runner, reason: str) -> None:
        if runner.pid is not None:
            if not template.dismissed:
                kill_group(runner.pid, signal.SIGKILL)
            self._pids.pop(runner.pid, None)
        if runner.attempt is not None and runner.attempt.cause is Cause.NOTHING:
            runner.attempt.cause, runner.attempt.reason = Cause.LOST, reason
        self._remove(template, runner)
        runner.exited(Exit(int(signal.SIGKILL), None, None))
        self._zygote.order({"do": "sweep"}, [])

    def _refused(self, number: int) -> None:
        template, runner = self._runners[number]
        attempt, runner.attempt = runner.attempt, None
        stranded = template.give_up()
        if attempt is not None:
            attempt.runner = None
            stranded.append(attempt)
        self._remove(template, runner)
        runner.exited(Exit(0, None, None))
        self._retire(template)
        for one in stranded:
            self.place(one)

    def _unforked(self, number: int, reason: str) -> None:
        if number in self._templates:
            self._fail_import(self._templates.pop(number), "OSError", reason)
        else:
            self._lose(*self._runners[number], reason)

    def released(self, runner: Runner) -> None:
        """A child has reported its attempt; the next may follow."""
        found = self._runners.get(runner.number)
        if found is not None:
            found[0].free(runner)

    def tidy(self, idle_seconds: float) -> None:
        """Let go of shared children that have been idle for long, and of what became superfluous."""
        before = self.loop.now() - idle_seconds
        for template in list(self._templates.values()):
            template.dismiss_idle(before)
            if template.superseded and not template.busy:
                self._retire(template)

    def kill_all(self) -> None:
        """Kill every task child."""
        for _, runner in self._runners.values():
            runner.stop(Cause.TERMINATED, "the runner host ended", 0)

    def close(self) -> None:
        """End every process below the host, and wait for it."""
        self._texts.close()
        for template in self._templates.values():
            if template.server is not None:
                template.server.close()
        self._zygote.close()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def describe_end(status: int) -> str:
    """Return how a process ended, from its wait status, as the end of a sentence."""
    code = os.waitstatus_to_exitcode(status)
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _control_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _start_zygote(control: socket.socket, config: HostConfig) -> subprocess.Popen[bytes]:
    fd = control.fileno()
    command = [sys.executable, "-P", "-m", "treadle_worker.zygote", str(fd), config.to_text()]
    return subprocess.Popen(
        command, pass_fds=(fd,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
