"""The threads that work on requests: a fixed number, each handed one request after another.

A ``ThreadPoolExecutor`` behind asyncio makes two futures with a lock each for every hand-over, and anyio checks scopes
and limits; that is most of what a hand-over costs. Made by ``create_app``, used by ``routing``. The threads begin with
the first request and end with ``end``, or with the process: what is under way then is rolled back by the database.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Work = tuple[Callable[..., Any], tuple[Any, ...], asyncio.AbstractEventLoop, asyncio.Future[Any]]


class Threads:
    """So many threads at most, each started when all others have work."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._under_way = 0
        self._waiting: SimpleQueue[_Work | None] = SimpleQueue()
        self._started: list[threading.Thread] = []
        # They know the queue and nothing else, so they end with whoever forgets to end them, as tests do.
        self._end = weakref.finalize(self, _tell_to_end, self._waiting, number)

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what ``function`` returns, called in one of the threads. For one event loop at a time."""
        self._under_way += 1
        try:
            if len(self._started) < min(self._under_way, self._number):
                self._start()
            loop = asyncio.get_running_loop()
            future: asyncio.Future[T] = loop.create_future()
            self._waiting.put((function, arguments, loop, future))
            return await future
        finally:
            self._under_way -= 1

    def end(self) -> None:
        """Let each thread end what it was given, and then itself."""
        self._end()
        for thread in self._started:
            thread.join()

    def _start(self) -> None:
        thread = threading.Thread(target=_work, args=(self._waiting,), name="request", daemon=True)
        self._started.append(thread)
        thread.start()


def _tell_to_end(waiting: SimpleQueue[_Work | None], number: int) -> None:
    for _ in range(number):
        waiting.put(None)


def _work(waiting: SimpleQueue[_Work | None]) -> None:
    while (work := waiting.get()) is not None:
        function, arguments, loop, future = work
        settle: Callable[[asyncio.Future[Any], Any], None] = _return
        try:
            outcome = function(*arguments)
        except BaseException as error:
            settle, outcome = _raise, error
        try:
            loop.call_soon_threadsafe(settle, future, outcome)
        except RuntimeError:
            # Nobody waits any more: the event loop is closed.
            if not loop.is_closed():
                raise
        # Kept no longer than needed, while the next request is waited for.
        del work, function, arguments, future, outcome


def _return(future: asyncio.Future[Any], result: object) -> None:
    if not future.done():
        future.set_result(result)


def _raise(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        # A future would not take it, and whoever waits would wait for ever.
        future.set_exception(RuntimeError("StopIteration") if isinstance(error, StopIteration) else error)
