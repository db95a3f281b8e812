"""What a transactional task is told when its commit is refused."""

from __future__ import annotations

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
