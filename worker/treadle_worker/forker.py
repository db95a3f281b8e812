"""The fork server: what the zygote, each template, and nothing else runs.

It takes orders from the host over a SOCK_SEQPACKET socket (one JSON object each, descriptors attached), forks, reaps,
and reports pids and exits. It never runs user code in its own process. When the host closes the socket, or dies, it
kills everything below itself and ends; when it is itself killed, the kernel kills its task children.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from typing import Any, Final

from treadle_worker.system import adopt_orphans, children_of, kill_group

ORDER_BYTES: Final = 16 * 1024
CRASHED: Final = 70
"""Exit code of a child whose own code, not the user's, failed; the traceback is on its stderr."""

LOST_HOST: Final = 71
"""Exit code of a child that could not report its result, since its socket was closed under it."""

Order = dict[str, Any]
Entry = Callable[[Order, list[int]], None]

_MAX_DESCRIPTORS: Final = 4
_ANCILLARY_BYTES: Final = socket.CMSG_SPACE(_MAX_DESCRIPTORS * 4)
_RECEIVE_FLAGS: Final = socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
_ORDERS_PER_TURN: Final = 8
_SECONDS_TO_END: Final = 2.0


def send_order(control: socket.socket, order: Order, descriptors: list[int]) -> None:
    """Send one order with its descriptors.

    Raises:
        BlockingIOError: the fork server has not taken earlier orders yet.
        OSError: the fork server is gone.
    """
    data = json.dumps(order).encode()
    if descriptors:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        control.sendmsg([data], [rights])
    else:
        control.send(data)


def receive_order(control: socket.socket) -> tuple[Order | None, list[int]]:
    """Return the next order and its descriptors (closed on exec), or None when the host is gone."""
    data, ancillary, _, _ = control.recvmsg(ORDER_BYTES, _ANCILLARY_BYTES, _RECEIVE_FLAGS)
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    return (json.loads(data) if data else None), list(descriptors)


def _heed(*_: object) -> None:
    """Do nothing; a signal without a handler would not write to the wake-up descriptor."""


class Forker:
    """Serves orders. ``entries`` maps an order's ``do`` to what the forked child then runs; it must not return."""

    def __init__(self, control: socket.socket, entries: dict[str, Entry]) -> None:
        self._control = control
        self._entries = entries
        self._living: set[int] = set()
        self._reports: list[dict[str, Any]] = []
        self.refuse: Callable[[], str | None] = lambda: None
        """Asked before each fork; a reason means that the host must start a new template instead."""

    def serve(self) -> None:
        """Fork and reap until the host closes the socket; then end everything below."""
        adopt_orphans()
        self._alarm, self._alarm_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, _heed)
        signal.set_wakeup_fd(self._alarm_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._alarm, select.POLLIN)
        try:
            going = True
            while going:
                for fd, _ in poll.poll():
                    if fd == self._alarm:
                        self._reap()
                    else:
                        going = self._take_orders()
                self.send_reports()
        finally:
            self._end()

    def _take_orders(self) -> bool:
        """Obey a few orders; tell whether the host is still there."""
        for _ in range(_ORDERS_PER_TURN):
            try:
                order, descriptors = receive_order(self._control)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if order is None:
                return False
            if order["do"] == "sweep":
                self._sweep()
            else:
                self._obey(order, descriptors)
        return True

    def _obey(self, order: Order, descriptors: list[int]) -> None:
        number = order["spawn"]
        reason = self.refuse()
        if reason is not None:
            self.report({"refused": number, "reason": reason})
        else:
            try:
                pid = os.fork()
            except OSError as error:
                self.report({"unforked": number, "reason": f"the system refused another process: {error.strerror}"})
            else:
                if pid == 0:
                    self._become_child(order, descriptors)
                self._living.add(pid)
                self.report({"spawned": number, "pid": pid})
        for fd in descriptors:
            os.close(fd)

    def _become_child(self, order: Order, descriptors: list[int]) -> None:
        code = CRASHED
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._alarm)
            os.close(self._alarm_write)
            self._control.close()
            # A group of its own, to be killed as one. Not a session: with the kernel's autogroup each session gets an
            # equal share of the machine, and a few dozen tasks would starve the scheduler and the database.
            os.setpgid(0, 0)
            if order["do"] == "child":
                # What the task detaches becomes the child's own: only once the child is gone it is a left-over.
                adopt_orphans()
            self._entries[order["do"]](order, descriptors)
            code = 0
        except BaseException:
            with contextlib.suppress(BaseException):
                os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
        finally:
            os._exit(code)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._alarm, 4096)
        exits: list[list[Any]] = []
        while True:
            try:
                # Looked at before it is reaped: while the leader is a zombie, its group id cannot be reused.
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                break
            if found is None:
                if not self._living:
                    self._sweep()
                break
            pid = found.si_pid
            kill_group(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            if pid in self._living:
                self._living.discard(pid)
                exits.append([pid, status, round(usage.ru_utime + usage.ru_stime, 6), usage.ru_maxrss * 1024])
        if exits:
            self.report({"exited": exits})

    def _sweep(self) -> None:
        """Kill what finished children left behind in sessions of their own (running children adopt their own)."""
        for pid in children_of(os.getpid()):
            if pid not in self._living:
                kill_group(pid, signal.SIGKILL)

    def report(self, message: dict[str, Any]) -> None:
        """Note something for the host; it is sent at the end of the turn."""
        self._reports.append(message)

    def send_reports(self) -> None:
        """Send what was noted. A host that is gone shows as the end of the orders."""
        if self._reports:
            with contextlib.suppress(OSError):
                self._control.send(json.dumps(self._reports).encode())
            self._reports = []

    def _end(self) -> None:
        deadline = time.monotonic() + _SECONDS_TO_END
        while time.monotonic() < deadline:
            for pid in children_of(os.getpid()):
                kill_group(pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            select.select([], [], [], 0.002)
