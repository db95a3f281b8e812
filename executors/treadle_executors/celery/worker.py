"""The Celery worker: takes attempts from the broker and has them run by this machine's runner host.

``treadle celery worker`` calls :func:`run_worker`. Told to stop, it takes nothing new, waits as long as it was told for
what runs, and hands the rest back free of charge. Killed, its attempts are found by their leases and run elsewhere;
their messages come again and are refused.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Final
from uuid import UUID

from celery import Celery, signals
from celery.exceptions import Reject
from celery.worker.control import control_command

from treadle_executors.celery.app import END, TASK, make_app
from treadle_executors.celery.options import Options
from treadle_executors.errors import ExecutorError, HostEndsError
from treadle_executors.http_execution import HttpExecution
from treadle_executors.remote_host import RemoteHost
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload

log = logging.getLogger(__name__)

_TALKATIVE: Final = ("celery.worker.strategy", "celery.app.trace")
"""Loggers that tell of each message; the attempt's own log and row say more."""

_POOL: Final = "treadle_executors.celery.pool:WaitingThreads"


def run_worker(settings: Settings, options: Options) -> int:
    """Run a worker until SIGTERM or SIGINT; return its exit code.

    Raises:
        ExecutorError: the setting ``broker_url`` or ``execution_url`` is empty.
    """
    if not settings.execution_url:
        raise ExecutorError(
            "a Celery worker needs the setting execution_url, the address of a web server of this installation, "
            "such as http://127.0.0.1:8080; set TREADLE_EXECUTION_URL or put it into treadle.toml"
        )
    app = make_app(settings)
    most, fewest = options.autoscale or (options.concurrency, options.concurrency)
    host = RemoteHost(settings, HttpExecution(settings.execution_url), most)
    _define(app, host)
    _listen(host, options.drain_seconds)
    worker = app.Worker(
        hostname=options.name,
        pool=_POOL,
        concurrency=fewest,
        autoscale=options.autoscale,
        queues=list(options.queues),
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    host.start()
    log.info("worker of queues %s started, up to %d attempts at once", ", ".join(options.queues), most)
    try:
        worker.start()
    finally:
        host.end()
    return int(worker.exitcode or 0)


def _define(app: Celery, host: RemoteHost) -> None:
    """Give the application the task that runs an attempt, and the command that ends one."""

    def run_attempt(workload: Workload, token: str) -> None:
        try:
            if not host.run(workload, token):
                log.info("attempt %s is under way here already: its message came twice", workload["attempt_id"])
        except HostEndsError as error:
            # Given back to the broker, for another worker.
            raise Reject(str(error), requeue=True) from error

    app.task(run_attempt, name=TASK)

    def end_attempt(_state: object, attempt_id: str, reason: str) -> None:
        host.terminate(UUID(attempt_id), reason)

    control_command(name=END, args=[("attempt_id", str), ("reason", str)])(end_attempt)


def _listen(host: RemoteHost, drain_seconds: float) -> None:
    """Keep Treadle's own log set-up, and hand attempts back once the order to stop has waited long enough."""

    def keep_logging(**_: Any) -> None:
        """Being connected is enough: Celery then configures nothing."""
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)

    def stop(**_: Any) -> None:
        timer = threading.Timer(drain_seconds, host.end)
        timer.daemon = True
        timer.start()

    # Celery keeps only weak references unless told otherwise.
    signals.setup_logging.connect(keep_logging, weak=False)
    signals.worker_shutting_down.connect(stop, weak=False)
