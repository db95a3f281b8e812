"""What a runner host signals to a child that is told to stop, however often it is told."""

from __future__ import annotations

import signal
from typing import Any, cast

import pytest

from treadle_worker import runner
from treadle_worker.event_loop import EventLoop
from treadle_worker.outcomes import Cause


class Loop:
    """A loop that keeps what is to be done later, and in how many seconds."""

    def __init__(self) -> None:
        self.later_acts: list[Any] = []

    def later(self, seconds: float, act: Any) -> object:
        self.later_acts.append((seconds, act))
        return object()


def test_a_child_that_is_told_twice_gets_one_sigterm_and_then_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[signal.Signals] = []
    monkeypatch.setattr(runner, "kill_group", lambda _, number: sent.append(number))
    loop = Loop()
    child = runner.Runner(cast("EventLoop", loop), cast("runner.Owner", None), 1)
    child.forked(4711)
    child.stop(Cause.TERMINATED, "its run was marked failed", 5.0)
    child.stop(Cause.TERMINATED, "the attempt is no longer this host's", 5.0)
    assert sent == [signal.SIGTERM]  # a second one would end a child that is just reporting its end
    ((seconds, kill),) = loop.later_acts
    assert seconds == 5.0
    kill()
    assert sent == [signal.SIGTERM, signal.SIGKILL]
