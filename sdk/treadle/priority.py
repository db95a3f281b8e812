"""Priority weights of users' own: a strategy says what each try of a task weighs.

The DAG processor's child asks it when it reads the DAG file and stores the numbers, so a strategy never runs in a
scheduler: it cannot slow the loop down, and sees no credential. What it may go by is what is known then: the task and
the number of the try. Installed strategies are found by name (entry points ``treadle.priority_strategies``).
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from treadle.errors import DagError
from treadle.rules import WeightRule
from treadle.wording import did_you_mean

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator

GROUP: Final = "treadle.priority_strategies"
MOST_WEIGHT: Final = 2**31 - 1
MOST_TRIES: Final = 100
"""Tries that a strategy is asked about; later ones weigh what the last of them does."""


class WeighedTask:
    """What a strategy is asked about: a try of a task, before there is any run of it.

    It has the task's ``dag_id``, ``task_id``, ``operator``, ``owner``, ``pool``, ``pool_slots``, ``queue``,
    ``priority_weight`` and ``task`` itself; ``try_number`` counts from 1, ``max_tries`` is the number of retries.
    """

    def __init__(self, task: BaseOperator, try_number: int) -> None:
        self.task = task
        self.dag_id = task.dag.dag_id if task.dag is not None else ""
        self.task_id = task.task_id
        self.operator = task.operator_name
        self.owner = task.owner
        self.pool = task.pool
        self.pool_slots = task.pool_slots
        self.queue = task.queue
        self.priority_weight = task.priority_weight
        self.map_index = -1
        self.try_number = try_number
        self.max_tries = task.retries

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a priority strategy is asked before there is a run: the task has no {name!r} then")


class PriorityWeightStrategy(ABC):
    """Says what a task weighs; pass an instance, the class, or the name of an installed one as ``weight_rule``."""

    @abstractmethod
    def get_weight(self, ti: WeighedTask) -> int:
        """Return the weight of one try; what lies outside of 32 bits is cut off."""


def weight_rule(value: Any) -> WeightRule | PriorityWeightStrategy:
    """Return the rule or strategy that the argument ``weight_rule`` means.

    Raises:
        ValueError: tells what was expected.
    """
    if isinstance(value, PriorityWeightStrategy):
        return value
    if isinstance(value, type) and issubclass(value, PriorityWeightStrategy):
        return value()
    known = [str(one) for one in WeightRule]
    if value in known:
        return WeightRule(value)
    # Reading what is installed takes 30 ms, which a task's process must not pay.
    metadata = importlib.import_module("importlib.metadata")
    installed = {one.name: one for one in metadata.entry_points(group=GROUP)}
    if value in installed:
        return weight_rule(installed[value].load())
    names = sorted([*known, *installed])
    raise ValueError(f"one of {', '.join(names)}, or a PriorityWeightStrategy{did_you_mean(str(value), names)}")


def name_of(rule: WeightRule | PriorityWeightStrategy) -> str:
    """Return what is shown as the task's ``weight_rule``."""
    if isinstance(rule, PriorityWeightStrategy):
        return f"{type(rule).__module__}.{type(rule).__qualname__}"
    return str(rule)


def weights_of(task: BaseOperator) -> tuple[int, ...]:
    """Return what the first, second, ... try of ``task`` weighs; the last holds for all further ones.

    Empty, if its rule is no strategy.

    Raises:
        DagError: the strategy fails, or returns no whole number.
    """
    rule = task.weight_rule
    if not isinstance(rule, PriorityWeightStrategy):
        return ()
    weights = [_weight(rule, task, number) for number in range(1, min(task.retries + 1, MOST_TRIES) + 1)]
    while len(weights) > 1 and weights[-1] == weights[-2]:
        weights.pop()
    return tuple(weights)


def _weight(rule: PriorityWeightStrategy, task: BaseOperator, try_number: int) -> int:
    try:
        weight = rule.get_weight(WeighedTask(task, try_number))
    except Exception as error:
        raise DagError(
            f"{task!r}: the weight of try {try_number} by {name_of(rule)}: {error!r}", site=task.site
        ) from error
    if isinstance(weight, bool) or not isinstance(weight, int):
        raise DagError(
            f"{task!r}: {name_of(rule)} gives try {try_number} the weight {weight!r}, expected a whole number",
            site=task.site,
        )
    return max(-MOST_WEIGHT, min(MOST_WEIGHT, weight))
