"""The host's loop: timers in order, descriptors that are forgotten in the middle of a round."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from treadle_worker.event_loop import EventLoop


def test_timers_fire_in_the_order_of_their_moments_and_cancelled_ones_do_not() -> None:
    loop, fired = EventLoop(), []
    loop.later(0.002, lambda: fired.append("second"))
    loop.later(0.001, lambda: fired.append("first"))
    loop.later(0.0015, lambda: fired.append("never")).cancel()
    loop.later(0.003, loop.stop)
    loop.run()
    assert fired == ["first", "second"]


def test_cancelled_timers_do_not_pile_up() -> None:
    loop = EventLoop()
    for _ in range(10_000):
        loop.later(3600, lambda: None).cancel()
    assert loop.pending_timers <= 128


def _call(serve: Callable[[int], None], fd: int, _: int) -> None:
    serve(fd)


def test_a_descriptor_that_another_handler_forgot_is_not_served() -> None:
    loop, served = EventLoop(), []
    pipes = [os.pipe() for _ in range(2)]

    def serve(fd: int) -> None:
        served.append(fd)
        for read, _ in pipes:
            loop.forget(read)
        loop.stop()

    for read, write in pipes:
        os.write(write, b"x")
        loop.watch(read, partial(_call, serve, read))
    loop.run()
    assert len(served) == 1
    for pair in pipes:
        for fd in pair:
            os.close(fd)
