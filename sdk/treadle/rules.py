"""The names of the rules that a task can choose: when it may start, and what it weighs in the queue.

Operators name them; ``treadle.trigger_rules`` decides by the first, the server computes weights by the second. In a
module of their own because every DAG file needs the names and none needs the deciding.
"""

from __future__ import annotations

from enum import StrEnum


class TriggerRule(StrEnum):
    """When a task may start, told from the states of its direct upstream tasks."""

    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_DONE_MIN_ONE_SUCCESS = "all_done_min_one_success"
    ALL_DONE_SETUP_SUCCESS = "all_done_setup_success"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALL_SKIPPED = "all_skipped"
    ALWAYS = "always"


class WeightRule(StrEnum):
    """``downstream``: own weight plus that of all descendants. ``upstream``: plus all ancestors. ``absolute``: own."""

    DOWNSTREAM = "downstream"
    UPSTREAM = "upstream"
    ABSOLUTE = "absolute"
