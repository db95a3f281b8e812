"""A real RabbitMQ for tests, on ports of its own, listening on this machine alone; what it holds outlives a kill.

It takes some seconds to start, so only those tests use it that are asked for with ``TREADLE_TEST_RABBITMQ``, the path
of the program ``rabbitmq-server`` (Debian: ``/usr/lib/rabbitmq/bin/rabbitmq-server``; the one in ``/usr/sbin`` is a
script that becomes another user).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kombu import Connection
from tests.support.redis_server import free_port
from tests.support.waiting import wait_until

PROGRAM = os.environ.get("TREADLE_TEST_RABBITMQ", "")


class RabbitServer:
    """A ``rabbitmq-server`` that can be killed and started again; its durable messages are still there then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names_port, self.port = free_port(), free_port()
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}//"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the server and wait until it lets a client in."""
        (self._folder / "rabbitmq.conf").touch()
        (self._folder / "rabbitmq.plugins").write_text("[].")
        with (self._folder / "rabbitmq.log").open("ab") as log:
            for command in (["epmd", "-address", "127.0.0.1", "-port", str(self._names_port)], [PROGRAM]):
                self._processes.append(subprocess.Popen(command, env=self._environment(), stdout=log, stderr=log))
        wait_until(self.answers, 90)

    def kill(self) -> None:
        """Kill the server, and the process that knows its node's name."""
        for one in reversed(self._processes):
            one.kill()
            one.wait()
        self._processes.clear()

    close = kill

    def answers(self) -> bool:
        """Tell whether a client is let in."""
        try:
            with Connection(self.url, connect_timeout=5, transport_options={"max_retries": 0}) as connection:
                return bool(connection.connect())
        except OSError:
            return False

    def _environment(self) -> Mapping[str, str]:
        folder = str(self._folder)
        return {
            "PATH": os.environ["PATH"],
            # Here the node's cookie is written, and no file of the tests' user is.
            "HOME": folder,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._names_port),
            "RABBITMQ_NODENAME": "tests@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": folder,
            "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/rabbitmq.plugins",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            # The script then becomes the server: killing it kills the server.
            "RUNNING_UNDER_SYSTEMD": "1",
        }
