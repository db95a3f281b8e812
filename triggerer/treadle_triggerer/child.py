"""The parent's end of the loop's process: started, spoken to, listened to, and ended.

Used by ``daemon``. One thread listens; any may send. What the loop last said, and when, tells whether it still turns.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, cast

from treadle_triggerer.marks import Marks, memory
from treadle_worker.frames import CHUNK, BrokenPeer, FrameBuffer, Message, encode

_SEND_SECONDS: Final = 20.0


class Child:
    """One loop process; ``on_message`` is called in its own thread, with None once the process is gone."""

    def __init__(
        self, environment: Mapping[str, str], dags_folder: str, on_message: Callable[[Child, Message | None], None]
    ) -> None:
        self._on_message = on_message
        self._sock, theirs = socket.socketpair()
        self._watch, their_watch = socket.socketpair()
        self._sock.settimeout(_SEND_SECONDS)
        self._lock = threading.Lock()
        with theirs, their_watch, memory() as shared:
            self._marks = Marks(shared.fileno())
            fds = (theirs.fileno(), their_watch.fileno(), shared.fileno())
            ours, watch, marked = map(str, fds)
            command = [sys.executable, "-P", "-m", "treadle_triggerer.loop_process", ours, watch, dags_folder, marked]
            # A session of its own: Ctrl-C in a terminal is the parent's to hear, which then ends the loop.
            self._process = subprocess.Popen(
                command, pass_fds=fds, env=dict(environment), stdin=subprocess.DEVNULL, start_new_session=True
            )
        self.pid: int = self._process.pid
        self.heard_at = self._began_at = time.monotonic()
        self.held = 0
        self.has_spoken = False
        self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def send(self, message: Message) -> bool:
        """Send a message; False if the process is gone, or takes nothing."""
        with self._lock:
            try:
                self._sock.sendall(encode(message))
            except OSError:
                return False
        return True

    def silence(self) -> float:
        """Return for how many seconds the loop has said nothing."""
        return time.monotonic() - self.heard_at

    def age(self) -> float:
        """Return how many seconds ago it began."""
        return time.monotonic() - self._began_at

    def suspects(self, *, of_loop: bool = False) -> list[int]:
        """Return the triggers whose code runs, or ran when the process died; ``of_loop``: in the loop's thread."""
        return self._marks.read(of_loop=of_loop)

    def ending(self) -> str:
        """Return in words how the process ended; it has (``end``)."""
        code = self._process.returncode
        if code >= 0:
            return f"with exit code {code}"
        try:
            return f"by signal {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def end(self, seconds: float) -> None:
        """Wait for its end, then kill it, and release what is ours."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self._process.kill()
        self._process.wait()
        if self._thread is not threading.current_thread() and self._thread.ident is not None:
            self._thread.join()
        for sock in (self._sock, self._watch):
            sock.close()

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            for sock in (self._sock, self._watch):
                selector.register(sock, selectors.EVENT_READ, FrameBuffer())
            while selector.get_map():
                for key, _ in selector.select():
                    if not self._read(cast("socket.socket", key.fileobj), key.data):
                        selector.unregister(key.fileobj)
        self._on_message(self, None)

    def _read(self, sock: socket.socket, buffer: FrameBuffer) -> bool:
        try:
            data = sock.recv(CHUNK)
            messages = buffer.feed(data)
        except (OSError, BrokenPeer):
            return False
        if not data:
            return False
        for message in messages:
            if sock is self._sock:
                self.heard_at = time.monotonic()
                self.has_spoken = True
                self.held = message.get("held", self.held)
            self._on_message(self, message)
        return True
