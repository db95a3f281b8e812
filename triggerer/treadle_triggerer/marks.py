"""Notes whose code runs just now, in memory that the parent reads when the process is dead: who ended it is known then.

Made by ``loop_process``; read by ``child``. Every step of a trigger's tasks in the loop is marked, and every call that
it has made in a thread of the loop's default executor. Memory that is shared survives os._exit, a segmentation fault
and the kernel's killing; nothing is written to disk.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import mmap
import os
import tempfile
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, Final

from treadle_triggerer.capture import CURRENT

THREADS: Final = 32
_WIDTH: Final = 8
_SIZE: Final = (1 + THREADS) * _WIDTH


class Marks:
    """Numbers of triggers by place: place 0 is the loop's thread, each other one a thread of the default executor."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._memory = mmap.mmap(-1 if descriptor is None else descriptor, _SIZE)
        self._places = memoryview(self._memory).cast("q")
        self._place = threading.local()
        self._numbers = itertools.count(1)

    def read(self, *, of_loop: bool = False) -> list[int]:
        """Return the triggers whose code runs, or ran at the end; ``of_loop``: in the loop's thread alone."""
        places = list(self._places)
        return [one for one in dict.fromkeys(places[:1] if of_loop else places) if one]

    def step(self, trigger: int, act: Callable[[], Any], place: int = 0) -> Any:
        """Return what ``act`` does, marked as ``trigger``'s meanwhile."""
        before, self._places[place] = self._places[place], trigger
        try:
            return act()
        finally:
            self._places[place] = before

    def task(self, trigger: int, work: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
        """Return ``work``, each step of which is marked."""
        return _Marked(self, trigger, work)

    def task_factory(self, loop: asyncio.AbstractEventLoop, work: Any, **named: Any) -> asyncio.Task[Any]:
        """Make a task; one that a trigger's code begins is marked as the trigger's."""
        trigger = CURRENT.get()
        if trigger is not None and asyncio.iscoroutine(work) and not isinstance(work, _Marked):
            work = _Marked(self, trigger, work)
        return asyncio.Task(work, loop=loop, **named)

    def executor(self) -> ThreadPoolExecutor:
        """Return a default executor for the loop, whose threads mark for which trigger they work."""
        most = min(THREADS, (os.cpu_count() or 1) + 4)
        return _Executor(self, most, thread_name_prefix="trigger", initializer=self._take_place)

    def _take_place(self) -> None:
        self._place.number = next(self._numbers)

    def in_thread(self, trigger: int, act: Callable[[], Any]) -> Any:
        """Return what ``act`` does in a thread of the executor."""
        return self.step(trigger, act, self._place.number)


class _Marked(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are marked; in all else it is the one within."""

    __slots__ = ("_marks", "_trigger", "_work")

    def __init__(self, marks: Marks, trigger: int, work: Coroutine[Any, Any, Any]) -> None:
        self._marks = marks
        self._trigger = trigger
        self._work = work

    def send(self, value: Any) -> Any:
        return self._marks.step(self._trigger, functools.partial(self._work.send, value))

    def throw(self, *error: Any) -> Any:
        return self._marks.step(self._trigger, functools.partial(self._work.throw, *error))

    def close(self) -> None:
        self._marks.step(self._trigger, self._work.close)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


class _Executor(ThreadPoolExecutor):
    def __init__(self, marks: Marks, most: int, **named: Any) -> None:
        super().__init__(most, **named)
        self._marks = marks

    def submit(self, act: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        trigger = CURRENT.get()
        call = functools.partial(act, *args, **named)
        return super().submit(call if trigger is None else functools.partial(self._marks.in_thread, trigger, call))


def memory() -> IO[bytes]:
    """Return an unnamed file, for the caller to close, whose descriptor two processes give to ``Marks``."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (what this returns)
    file.truncate(_SIZE)
    return file
