"""What a transactional task is told when its commit is refused, and what its file has loaded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from treadle.operators.transaction import sent_together


class Refusing:
    """A connection whose pipeline ends in an error that hides another, as psycopg's does when answers come late."""

    def __init__(self, first: Exception, raised: Exception) -> None:
        self._first, self._raised = first, raised

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Raise at the end of the block."""
        yield
        try:
            raise self._first
        finally:
            raise self._raised


def test_the_refusal_is_raised_and_not_that_what_came_after_it_was_not_run() -> None:
    refusal = psycopg.errors.RaiseException("attempt 1 is over")
    with (
        pytest.raises(psycopg.errors.RaiseException, match="is over"),
        sent_together(Refusing(refusal, psycopg.errors.PipelineAborted("pipeline aborted"))),
    ):
        pass


def test_any_other_error_stays_what_it_is() -> None:
    with (
        pytest.raises(psycopg.OperationalError, match="closed"),
        sent_together(Refusing(ValueError("first"), psycopg.OperationalError("closed"))),
    ):
        pass


def test_a_file_with_a_mapped_transactional_task_has_the_driver_loaded_before_any_attempt_is_forked() -> None:
    """An operator that is mapped is made by each attempt: what its class needs must be there by then."""
    source = """
import sys
from treadle import DAG, task
assert "psycopg" not in sys.modules
with DAG("mapped"):
    @task.transaction(conn_id="target")
    def write(number, transaction):
        pass
    write.expand(number=[1, 2])
assert "psycopg" in sys.modules
"""
    subprocess.run([sys.executable, "-c", source], check=True)
