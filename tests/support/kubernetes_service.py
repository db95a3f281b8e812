"""An installation whose attempts are pods: schedulers, a web server, and a cluster that runs the pods' commands."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.kubernetes_api.server import KubernetesApi, kubernetes_api
from tests.support.kubernetes_homes import write_home
from tests.support.redis_server import free_port
from tests.support.service import Service
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database


class KubernetesService(Service):
    """A service with a cluster; ``start`` starts one scheduler, ``second`` another on the same home."""

    def __init__(self, home: Path, database: Database, api: KubernetesApi, **environment: str) -> None:
        self.api = api
        self.url = f"http://127.0.0.1:{free_port()}"
        super().__init__(
            home,
            database,
            TREADLE_EXECUTOR="kubernetes",
            TREADLE_PORT=self.url.rpartition(":")[2],
            TREADLE_EXECUTION_URL=self.url,
            **environment,
        )
        write_home(home, api)
        self.web: subprocess.Popen[bytes] | None = None

    def start_web(self) -> None:
        """Start the web server and wait until it answers."""
        command = [sys.executable, "-m", "treadle_cli", "webserver", "--apps", "execution"]
        with (self.home / "web.log").open("ab") as log:
            self.web = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        wait_until(self._web_answers, 30)

    def _web_answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/monitor/health", timeout=5):
                return True
        except (urllib.error.URLError, ConnectionError):
            return False

    def second(self) -> Service:
        """Return another scheduler of this installation, not started."""
        other = Service(self.home, self.database)
        other.environment = self.environment
        return other

    def uids(self) -> set[str]:
        """Return the ids of the cluster's pods."""
        return {one["metadata"]["uid"] for one in self.api.pods()}

    def stop_all(self) -> None:
        """End the scheduler and the web server."""
        self.stop()
        if self.web is not None:
            self.web.send_signal(signal.SIGTERM)
            self.web.wait(20)


@contextmanager
def kubernetes_service(home: Path, database: Database, **environment: str) -> Iterator[KubernetesService]:
    """Yield an installation whose cluster and web server run; schedulers are the test's to start."""
    with kubernetes_api() as api:
        one = KubernetesService(home, database, api, **environment)
        try:
            one.start_web()
            yield one
        finally:
            one.stop_all()
