"""What runs beside a cluster's schedulers: a web server, and triggerers, which speak to that alone.

For ``bench.cluster``, which the monkey breaks. The web server serves the Execution API on a port of this machine only;
the triggerers get its address and a token, and nothing else of the installation.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench import processes
from bench.installation import free_port
from treadle_metadata.settings import Settings
from treadle_metadata.triggerer_tokens import TriggererTokens

WEB: Final = "web"


class Beside:
    """The processes by name; one that is gone is started again by ``revive``."""

    def __init__(self, home: Path, environment: Mapping[str, str], settings: Settings, triggerers: int) -> None:
        self._log = home / "beside.log"
        self._port = str(free_port())
        self._environment = environment
        bare = {name: value for name, value in os.environ.items() if not name.startswith("TREADLE_")}
        self._of_triggerer = {
            **bare,
            "TREADLE_TRIGGERER_TOKEN": TriggererTokens(settings.jwt_secret).issue(now=datetime.now(UTC)),
            "TREADLE_EXECUTION_URL": f"http://127.0.0.1:{self._port}",
            "TREADLE_DAGS_FOLDER": str(home / "dags"),
        }
        self._names = [WEB, *(f"triggerer {number}" for number in range(triggerers))]
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def revive(self) -> list[tuple[str, int]]:
        """Start what does not run; return the name and exit code of what ended without having been killed.

        A web server that finds no database at its start leaves, as it should.
        """
        ended = []
        for name in self._names:
            one = self._running.get(name)
            code = None if one is None else one.poll()
            if one is not None and code is None:
                continue
            if code is not None and code != -signal.SIGKILL and name != WEB:
                ended.append((name, code))
            self._running[name] = self._start(name)
        return ended

    def web(self) -> list[int]:
        """Return the pid of the web server, if it runs."""
        return [one.pid for name, one in self._running.items() if name == WEB and one.poll() is None]

    def triggerers(self) -> list[int]:
        """Return the pids of the triggerers that run, without their loops."""
        return [one.pid for name, one in self._running.items() if name != WEB and one.poll() is None]

    def pids(self) -> set[int]:
        """Return all processes that belong here: those that run, and whatever they have started."""
        return {pid for root in (*self.web(), *self.triggerers()) for pid in processes.tree(root)}

    def end(self, seconds: float = 20.0) -> dict[str, int]:
        """End all in order, the web server last; return their exit codes. One that does not end is killed."""
        codes = {}
        for name in reversed(self._names):
            one = self._running.pop(name, None)
            if one is None:
                continue
            is_up = name != WEB or self._serves()
            one.send_signal(signal.SIGCONT)
            one.send_signal(signal.SIGTERM)
            try:
                code = one.wait(seconds)
            except subprocess.TimeoutExpired:
                one.kill()
                code = one.wait()
            # A web server that does not serve yet is just ended by the signal.
            codes[name] = 0 if code == -signal.SIGTERM and not is_up else code
        return codes

    def _serves(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", int(self._port)), timeout=1):
                return True
        except OSError:
            return False

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command, environment = [sys.executable, "-P", "-m", "treadle_triggerer"], self._of_triggerer
        if name == WEB:
            command = [sys.executable, "-m", "treadle_cli", "webserver", "--apps", "execution"]
            environment = {**self._environment, "TREADLE_PORT": self._port}
        with self._log.open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)
