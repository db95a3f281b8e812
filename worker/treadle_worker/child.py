"""The task child: receives workloads over its socket, runs them, and answers with finishes.

Called by a fork server right after the fork, in the child; it returns when the process may end. It holds no
credential. Until the host says ``go``, no user code of the attempt runs. If the host is gone, the child ends; if the
child dies in any way, the host learns it from the fork server's ``wait4``.
"""

from __future__ import annotations

import atexit
import os
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

from treadle.errors import TaskNotFoundError
from treadle.runtime import current
from treadle.runtime.masking import MASKER
from treadle.runtime.run_callback import run_callback
from treadle.runtime.run_task import Limits, run_attempt
from treadle.runtime.supervisor import AttemptResult
from treadle_worker.child_supervisor import ChildSupervisor
from treadle_worker.forker import LOST_HOST
from treadle_worker.frames import FrameStream, Message, encode
from treadle_worker.loading import DagFileError, pick_dag
from treadle_worker.output_streams import Capture
from treadle_worker.protocol import Workload
from treadle_worker.task_log import TaskLog, timestamp

_RESULT: Final = tuple(field.name for field in fields(AttemptResult))
CAPTURE: Final = Capture(TaskLog(os.devnull, MASKER.mask))
"""What this process prints and logs; set up once, in the zygote, and inherited."""

FindDags = Callable[[Workload], Mapping[str, Any]]
"""Gives the DAGs of a file: those imported before the fork (template), or imported now (fork of the zygote)."""


def serve_attempts(descriptors: list[int], find_dags: FindDags) -> None:
    """Run workloads, one after the other, until the host closes the socket or says that one is the last."""
    channel, out, err = descriptors
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    _reseed()
    stream = FrameStream(socket.socket(fileno=channel))
    callbacks = atexit._ncallbacks()
    order = stream.receive()
    while order is not None:
        go = order if order["go"] else stream.receive()
        if go is None:
            break
        if too_late(go):
            os._exit(LOST_HOST)
        try:
            run_one(stream, order, find_dags, go.get("journal"))
        except OSError:
            os._exit(LOST_HOST)
        order = None if order["last"] else stream.receive()
    if atexit._ncallbacks() != callbacks:
        atexit._run_exitfuncs()


def too_late(go: Message) -> bool:
    """Tell whether the attempt's lease was over before its code could begin.

    Host and child may have been stopped together, with the order under way: whoever took the attempt over runs it, and
    the host has yet to notice (the lease counts on the machine's clock, which does not stop with them).
    """
    begin_by = go.get("begin_by")
    return begin_by is not None and time.monotonic() >= begin_by


def _reseed() -> None:
    # Python's own generator reseeds itself after a fork; numpy's would give every attempt the same numbers.
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()


def run_one(stream: FrameStream, order: Message, find_dags: FindDags, journal: dict[str, Any] | None = None) -> None:
    """Run the attempt of ``order`` and report its result; ``journal`` is what came with its start.

    Raises:
        OSError: the result cannot be reported, since the socket was closed by the task or the host is gone.
    """
    MASKER.clear()
    CAPTURE.begin(order["log"])
    current.let_others_follow(whether=not order["last"])
    before = _usage()[0]
    result = _attempt(ChildSupervisor(stream, order["workload"], journal), order, find_dags)
    cpu_seconds, peak = _usage()
    finish = {
        "kind": "finish",
        "attempt_id": order["workload"]["attempt_id"],
        "ended_at": timestamp(),
        "cpu_seconds": round(cpu_seconds - before, 6),
        "peak_rss_bytes": peak,
    }
    try:
        frame = encode(finish | _plain(result))
    except (TypeError, ValueError, RecursionError) as error:
        frame = encode(finish | _plain(_failure("protocol", error, "the result of the attempt could not be sent: ")))
    CAPTURE.end()
    stream.sock.sendall(frame)


def _plain(result: AttemptResult) -> Message:
    return {name: getattr(result, name) for name in _RESULT}


def _attempt(supervisor: ChildSupervisor, order: Message, find_dags: FindDags) -> AttemptResult:
    workload: Workload = order["workload"]
    try:
        dag = pick_dag(find_dags(workload), workload["dag_id"], workload["file"])
        if "callback" in workload:
            return run_callback(dag, workload, supervisor, Limits(**order["limits"]))
        return run_attempt(dag, workload["task_id"], workload, supervisor, Limits(**order["limits"]))
    except DagFileError as error:
        return _failure("import", error)
    except TaskNotFoundError as error:
        return _failure("import", error, f"{workload['file']} was edited after this run began: ")
    except BaseException as error:
        return _failure("protocol", error, "the task runtime itself failed: ")
    finally:
        if not order["last"]:
            # The next attempt must not meet what this one left: an alarm, or an ignored SIGTERM.
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _failure(kind: str, error: BaseException, prefix: str = "") -> AttemptResult:
    text = "".join(traceback.format_exception(error))
    facts = {"kind": kind, "type": type(error).__name__, "message": f"{prefix}{error}", "traceback": text}
    CAPTURE.log.write("error", "treadle", facts["message"], exc=text)
    return AttemptResult(outcome="failed", error=facts)


def _usage() -> tuple[float, int]:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return seconds, max(own.ru_maxrss, children.ru_maxrss) * 1024
