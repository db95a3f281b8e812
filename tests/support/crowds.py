"""Several schedulers at once, in threads of the test's own process."""

from __future__ import annotations

import threading
from dataclasses import replace

from bench.instant import InstantExecutor

from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop
from treadle_scheduler.waking import Scope


class Crowd:
    """Loops in threads, each with a database connection pool and an executor of its own."""

    def __init__(self, settings: Settings, number: int) -> None:
        self.databases = [Database(settings.database_url) for _ in range(number)]
        self.executors = [InstantExecutor(one, replace(settings, executor="instant")) for one in self.databases]
        self.loops = [
            Loop(Context(database, SystemClock(), executor.settings, {"instant": executor}))
            for database, executor in zip(self.databases, self.executors, strict=True)
        ]
        self.errors: list[BaseException] = []
        self.threads = [threading.Thread(target=self._run, args=(loop,)) for loop in self.loops]
        for executor, loop in zip(self.executors, self.loops, strict=True):
            executor.start(loop.wake)

    def _run(self, loop: Loop) -> None:
        try:
            loop.wake(Scope.EVERYTHING)
            loop.run()
        except BaseException as error:
            self.errors.append(error)

    def __enter__(self) -> Crowd:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for loop in self.loops:
            loop.stop()
        for thread in self.threads:
            thread.join(10)
        for database in self.databases:
            database.close()
        assert self.errors == []
