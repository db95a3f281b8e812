"""How a task's own priority and those of its relatives make its weight in the queue.

Operators name a rule; the server computes the weights (``priority_weight`` in the document is the task's own).
"""

from __future__ import annotations

from enum import StrEnum


class WeightRule(StrEnum):
    """``downstream``: own weight plus that of all descendants. ``upstream``: plus all ancestors. ``absolute``: own."""

    DOWNSTREAM = "downstream"
    UPSTREAM = "upstream"
    ABSOLUTE = "absolute"
