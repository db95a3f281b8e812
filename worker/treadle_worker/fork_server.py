"""The host's handle on a fork server: the zygote, or one template.

Orders that the server has no room for wait here, with their descriptors. Reports come back as JSON, a list
per packet (``treadle_worker.forker``). When the server ends without being told to, ``on_end`` is called once.
"""

from __future__ import annotations

import json
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from treadle_worker.event_loop import READ, WRITE, EventLoop
from treadle_worker.forker import Order, send_order

_REPORT_BYTES: Final = 1024 * 1024


class ForkServer:
    """One control socket. Descriptors given to :meth:`order` are closed once they are sent."""

    def __init__(
        self,
        loop: EventLoop,
        control: socket.socket,
        on_report: Callable[[dict[str, Any]], None],
        on_end: Callable[[], None],
    ) -> None:
        control.setblocking(False)
        self._loop = loop
        self._control = control
        self._fd = control.fileno()
        self._on_report = on_report
        self._on_end = on_end
        self._waiting: deque[tuple[Order, list[int]]] = deque()
        self.closed = False
        loop.watch(self._fd, self._ready)

    def order(self, order: Order, descriptors: list[int]) -> None:
        """Send an order, or keep it until the server has room."""
        if self.closed:
            _close(descriptors)
        elif self._waiting or not self._sent(order, descriptors):
            self._waiting.append((order, descriptors))
            self._loop.change(self._fd, READ | WRITE)

    def _sent(self, order: Order, descriptors: list[int]) -> bool:
        try:
            send_order(self._control, order, descriptors)
        except BlockingIOError:
            return False
        except OSError:
            pass  # The server is gone; reading notices it and says so.
        _close(descriptors)
        return True

    def _ready(self, events: int) -> None:
        if events & WRITE:
            while self._waiting and self._sent(*self._waiting[0]):
                self._waiting.popleft()
            if not self._waiting:
                self._loop.change(self._fd, READ)
        if events & ~WRITE:
            self._read()

    def _read(self) -> None:
        try:
            data = self._control.recv(_REPORT_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            for report in json.loads(data):
                self._on_report(report)
        else:
            self.close()
            self._on_end()

    def close(self) -> None:
        """Let go of the server: it ends what it forked, and itself."""
        if not self.closed:
            self.closed = True
            self._loop.forget(self._fd)
            self._control.close()
            for _, descriptors in self._waiting:
                _close(descriptors)
            self._waiting.clear()


def _close(descriptors: list[int]) -> None:
    for fd in descriptors:
        os.close(fd)
