"""``treadle task run``: one attempt in this process and one child, from a workload and a token to an exit code.

Made for pods and other places where nothing is warm, so it imports little. The token comes by the environment, which
other processes of this user cannot read once the memory is hidden, and the child gets an environment without it. Exit
codes: 0 the end is recorded and good (or another runs it), 1 it is recorded and bad, 3 it could not be recorded, 2 the
attempt could not be begun.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final, cast

from treadle_executors.environment import CONNECTIONS, VARIABLES, scrubbed, secrets_of
from treadle_executors.errors import ExecutorError
from treadle_executors.http_execution import HttpExecution
from treadle_executors.log_shipping import LogShipping
from treadle_executors.log_spool import LogSpool
from treadle_executors.single.attempt import SingleAttempt, Terms
from treadle_executors.single.echo import Echo
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload
from treadle_worker.system import adopt_orphans, hide_memory
from treadle_worker.workloads import problem_of

TOKEN: Final = "TREADLE_ATTEMPT_TOKEN"
WORKLOAD: Final = "TREADLE_WORKLOAD_FILE"
LAST_WORD: Final = "TREADLE_LAST_WORD_FILE"
"""Path of the file that tells the cluster, and so the executor, how it ended (a pod's terminationMessagePath)."""

REPORTED: Final = "treadle: reported "
"""Begin of the last word of an attempt whose end the server knows."""

UNREPORTED: Final = 3
_GOOD: Final = frozenset({"success", "skipped", "suspended", "deferred", "refused"})


def run_single(settings: Settings, file: Path | None = None) -> int:
    """Run the attempt of ``file`` (default: the environment's) and return the exit code.

    Raises:
        ExecutorError: there is no usable workload, no token, or no address to report to.
    """
    hide_memory()
    adopt_orphans()
    token = os.environ.pop(TOKEN, "")
    if not token:
        raise ExecutorError(f"no token: the environment variable {TOKEN} is to hold the attempt's")
    if not settings.execution_url:
        raise ExecutorError("the setting execution_url is empty: set TREADLE_EXECUTION_URL to the web server's address")
    workload = _read(file or Path(os.environ.get(WORKLOAD, "")))
    execution = HttpExecution(settings.execution_url)
    execution.hold(workload["attempt_id"], token)
    spool = LogSpool()
    shipping = LogShipping(execution)
    attempt = SingleAttempt(workload, execution, shipping, _terms(settings, spool.folder, token))
    shipping.follow(workload["attempt_id"], spool.folder / workload["log_path"], token)
    shipping.start()
    echo = Echo(spool.folder / workload["log_path"], lambda: shipping.base_of(workload["attempt_id"]))
    echo.start()
    _stop_on_signals(attempt)
    try:
        was_recorded = attempt.run()
    finally:
        echo.end()  # before the log's file goes
        shipping.over(workload["attempt_id"])
        shipping.end()
        spool.close()
    return _last_word(attempt.outcome, was_recorded=was_recorded)


def _read(path: Path) -> Workload:
    try:
        workload = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ExecutorError(f"the workload {str(path)!r} cannot be read: {error}") from error
    problem = problem_of(workload) if isinstance(workload, Mapping) else "the workload is no object"
    if problem is not None:
        raise ExecutorError(problem)
    return cast("Workload", workload)


def _terms(settings: Settings, logs_folder: Path, token: str) -> Terms:
    return Terms(
        dags_folder=str(settings.path("dags_folder")),
        logs_folder=str(logs_folder),
        hostname=socket.gethostname(),
        import_seconds=settings.parse_timeout_seconds,
        grace_seconds=settings.terminate_grace_seconds,
        renewal_seconds=settings.lease_renewal_seconds,
        lease_seconds=settings.lease_seconds,
        xcom_max_bytes=settings.xcom_max_bytes,
        environment=scrubbed(os.environ, [*secrets_of(settings), token], kept=(VARIABLES, CONNECTIONS)),
    )


def _stop_on_signals(attempt: SingleAttempt) -> None:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        attempt.stop()

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, stop)


def _last_word(outcome: str, *, was_recorded: bool) -> int:
    if not was_recorded and outcome != "refused":
        return UNREPORTED
    with suppress(OSError, KeyError):
        Path(os.environ[LAST_WORD]).write_text(f"{REPORTED}{outcome}\n")
    if outcome not in _GOOD:
        print(f"the attempt ended: {outcome}; its log says why", file=sys.stderr, flush=True)
    return 0 if outcome in _GOOD else 1
