"""Executors are found by name."""

from __future__ import annotations

import pytest

from treadle_executors.errors import ExecutorError, UnknownExecutorError
from treadle_executors.local import LocalExecutor
from treadle_executors.registry import executor_names, load_executor


def test_the_local_executor_is_installed() -> None:
    assert "local" in executor_names()
    assert load_executor("local") is LocalExecutor


def test_a_near_miss_is_answered_with_the_name_that_was_meant() -> None:
    with pytest.raises(UnknownExecutorError, match="did you mean 'local'") as caught:
        load_executor("locl")
    assert caught.value.name == "locl"


def test_an_entry_point_that_is_no_executor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name, value = "odd", "builtins:dict"

        def load(self) -> object:
            return dict

    monkeypatch.setattr("treadle_executors.registry.entry_points", lambda **_: [Entry()])
    with pytest.raises(ExecutorError, match="no subclass of Executor"):
        load_executor("odd")
