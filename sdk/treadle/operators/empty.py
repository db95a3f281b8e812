"""A task that does nothing: a place where edges meet."""

from __future__ import annotations

from typing import Any

from treadle.operators.base import BaseOperator


class EmptyOperator(BaseOperator):
    """Does nothing. Without callbacks it succeeds in the scheduler itself, without a worker."""

    def execute(self, context: Any) -> None:
        """Do nothing."""
