"""The threads that work on requests: answers, faults, how many there are, and their end."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from tests.support.waiting import until, wait_until

from treadle_webserver.threads import Threads


def _alive() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "request"}


def test_what_is_returned_and_raised_in_a_thread_comes_back() -> None:
    def end_too_soon() -> None:
        raise StopIteration

    async def ask() -> None:
        threads = Threads(2)
        assert await threads.run(lambda one, other: one + other, 1, 2) == 3
        assert await threads.run(threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.run(end_too_soon)
        threads.end()

    asyncio.run(ask())


def test_there_are_as_many_threads_as_have_work_and_no_more_than_allowed() -> None:
    before = _alive()
    threads, together = Threads(3), threading.Barrier(3)

    async def ask() -> None:
        for _ in range(5):
            await threads.run(int)
        assert len(_alive() - before) == 1
        # Three at a time: each waits for two others.
        await asyncio.gather(*(threads.run(together.wait, 10) for _ in range(6)))
        assert len(_alive() - before) == 3

    asyncio.run(ask())
    threads.end()
    assert not _alive() - before


def test_a_request_that_is_given_up_leaves_its_thread_to_others() -> None:
    before = _alive()
    threads, go_on = Threads(1), threading.Event()

    async def ask() -> None:
        given_up = asyncio.create_task(threads.run(go_on.wait, 10))
        await until(lambda: _alive() - before)
        given_up.cancel()
        go_on.set()
        assert await threads.run(int) == 0

    asyncio.run(ask())
    threads.end()


def test_threads_that_nobody_knows_any_more_end() -> None:
    before = _alive()
    threads = Threads(2)
    asyncio.run(threads.run(int))
    assert len(_alive() - before) == 1
    del threads
    gc.collect()
    wait_until(lambda: not _alive() - before)
