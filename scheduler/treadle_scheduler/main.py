"""The scheduler daemon: its executors, its loop, and the threads that wake the loop and keep its lease.

It registers itself in ``process``; when it is killed, its attempts and its row expire with their leases and any other
scheduler goes on. SIGTERM and SIGINT end it after the present beat: executors end their attempts, which are handed
back uncharged.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType
from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError

from treadle_executors.executor import Executor
from treadle_executors.registry import load_executor
from treadle_executors.timetables import Evaluator
from treadle_metadata import processes
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import RUNS, TASKS, TERMINATE, Database
from treadle_metadata.endings import read_order
from treadle_metadata.settings import Settings, executor_names
from treadle_metadata.transitions import recording
from treadle_scheduler.context import Context
from treadle_scheduler.custom_timetables import CustomTimetables
from treadle_scheduler.duties.collect_reports import collect_reports
from treadle_scheduler.loop import Loop
from treadle_scheduler.waking import Scope

log = logging.getLogger(__name__)

_SCOPES: Final = {TASKS: Scope.TASKS, RUNS: Scope.RUNS}


def run(settings: Settings, *, clock: Clock | None = None) -> None:
    """Run a scheduler until SIGTERM or SIGINT."""
    database = Database(
        settings.database_url,
        application_name="treadle scheduler",
        idle_seconds=settings.lease_seconds,
        plan_once=True,
    )
    context = Context(database, clock or SystemClock(), settings, _executors(settings, database))
    loop = Loop(context)
    context.custom = CustomTimetables(evaluator := Evaluator(settings), lambda: loop.wake(Scope.EVERYTHING))
    _stop_on_signals(loop)
    _prepare(database, settings)
    listener = Listener(database, loop, context.executors)
    lease = processes.Lease(database, "scheduler", context.clock, settings, lambda: troubles(context.executors))
    for executor in context.executors.values():
        executor.start(loop.wake)
    with lease:
        listener.start()
        log.info("scheduler started, executor %s, parallelism %d", ", ".join(context.executors), settings.parallelism)
        try:
            loop.run()
        finally:
            listener.stop()
            for executor in context.executors.values():
                executor.end()
            _hand_back(context)
            evaluator.close()
    database.close()


def _hand_back(context: Context) -> None:
    """Give up what the ended executors did not finish, so that it is made again at once and free of charge."""
    try:
        collect_reports(context)
    except DBAPIError as error:
        log.warning("what was under way could not be handed back, it is rescued when its leases end: %s", error.orig)


def _executors(settings: Settings, database: Database) -> Mapping[str, Executor]:
    return {name: load_executor(name)(database, settings) for name in executor_names(settings)}


def troubles(executors: Mapping[str, Executor]) -> processes.Executors:
    """Return what keeps the executors from starting attempts just now, for people who ask why one waits."""
    return {
        name: [{"sentence": one.sentence, "queue": one.queue} for one in executor.troubles()]
        for name, executor in executors.items()
    }


def _prepare(database: Database, settings: Settings) -> None:
    # Making the triggers locks whole tables, so it may meet a deadlock with schedulers that are at work.
    database.run(lambda connection: recording.set_recording(connection, on=settings.record_transitions))


def _stop_on_signals(loop: Loop) -> None:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        loop.stop()

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, stop)


class Listener(threading.Thread):
    """Hears notifications: wakes the loop, and passes orders to end an attempt to the executors.

    A broken connection is opened again; what was missed meanwhile is made good by one look everywhere.
    """

    def __init__(self, database: Database, loop: Loop, executors: Mapping[str, Executor]) -> None:
        super().__init__(name="listener", daemon=True)
        self._database = database
        self._loop = loop
        self._executors = executors
        self._stopping = threading.Event()

    def run(self) -> None:
        """Listen until stopped."""
        while not self._stopping.is_set():
            try:
                with self._database.listen() as connection:
                    self._loop.wake(Scope.EVERYTHING)
                    self._hear(connection)
            except psycopg.Error as error:
                if not self._stopping.is_set():
                    log.warning("lost the database connection that listens, connecting again: %s", error)
                    self._stopping.wait(1)

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()

    def _hear(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        while not self._stopping.is_set():
            for notice in connection.notifies(timeout=1.0, stop_after=1):
                if notice.channel == TERMINATE:
                    self._terminate(notice.payload)
                else:
                    self._loop.wake(_SCOPES.get(notice.payload, Scope.EVERYTHING))

    def _terminate(self, payload: str) -> None:
        with suppress(ValueError):
            attempt_id, why = read_order(payload)
            for executor in self._executors.values():
                executor.terminate(attempt_id, why or "it was cleared, marked or timed out")
