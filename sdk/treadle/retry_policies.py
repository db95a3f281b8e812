"""Retry policies: whether an attempt that failed is tried again, and when, by what it raised.

A task's ``retry_policy`` is asked in its own process, right after the failure (``treadle.runtime.run_task``). The
decision travels with the attempt's report. A policy narrows what ``retries`` allows and never adds a try. One that
raises is logged, and the attempt goes on as if there were none. Names and meanings follow ``airflow.sdk`` 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

LONGEST_REASON: Final = 500
"""Characters of a decision's reason that are kept."""


class RetryAction(StrEnum):
    """What becomes of a failed attempt. ``DEFAULT``: what ``retries`` and ``retry_delay`` say."""

    RETRY = "retry"
    FAIL = "fail"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """What a policy decided. ``retry_delay`` takes the place of the task's own delay; None leaves that."""

    action: RetryAction
    retry_delay: timedelta | None = None
    reason: str | None = None

    @classmethod
    def fail(cls, reason: str | None = None) -> RetryDecision:
        """The task fails now, whatever tries are left."""
        return cls(RetryAction.FAIL, reason=reason)

    @classmethod
    def retry(cls, delay: timedelta | None = None, reason: str | None = None) -> RetryDecision:
        """The task is tried again if tries are left, after ``delay``."""
        return cls(RetryAction.RETRY, delay, reason)

    @classmethod
    def default(cls) -> RetryDecision:
        """The policy has nothing to say."""
        return cls(RetryAction.DEFAULT)


class RetryPolicy:
    """Decides upon each failed attempt that has tries left. Subclasses define :meth:`evaluate`."""

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Mapping[str, Any]
    ) -> RetryDecision:
        """Return what becomes of the attempt ``try_number`` (1, 2, ...) of ``max_tries`` + 1, which raised."""
        raise NotImplementedError(f"{type(self).__name__} defines no evaluate(exception, try_number, ...)")


class RetryRule:
    """What to do about one kind of exception, given as a class or as its full name (``"requests.HTTPError"``).

    A name is compared with the classes of what was raised, so that the file need not import it. ``retry_delay`` is a
    ``timedelta`` or seconds. Without ``match_subclasses`` only the class itself counts.

    Raises:
        ValueError: an argument cannot be used.
    """

    __slots__ = ("action", "exception", "match_subclasses", "reason", "retry_delay")

    def __init__(
        self,
        exception: type[BaseException] | str,
        action: RetryAction | str = RetryAction.RETRY,
        retry_delay: timedelta | float | None = None,
        reason: str | None = None,
        match_subclasses: bool = True,
    ) -> None:
        named = isinstance(exception, str) and bool(exception.strip("."))
        if not named and not (isinstance(exception, type) and issubclass(exception, BaseException)):
            raise ValueError(f"RetryRule: exception={exception!r} is neither an exception class nor its full name")
        known = [str(one) for one in RetryAction]
        if action not in known:
            raise ValueError(f"RetryRule: action={action!r} cannot be used: expected one of {', '.join(known)}")
        self.exception = exception
        self.action = RetryAction(action)
        self.retry_delay = _delay(retry_delay)
        self.reason = reason
        self.match_subclasses = match_subclasses

    def matches(self, exception: BaseException) -> bool:
        """Tell whether the rule speaks of ``exception``."""
        classes = type(exception).__mro__ if self.match_subclasses else (type(exception),)
        if isinstance(self.exception, str):
            return any(self.exception in _names(one) for one in classes)
        return self.exception in classes

    def decision(self) -> RetryDecision:
        """Return what the rule says."""
        return RetryDecision(self.action, self.retry_delay, self.reason)


class ExceptionRetryPolicy(RetryPolicy):
    """The first of ``rules`` that matches what was raised decides; ``default`` where none does.

    Raises:
        ValueError: a rule is no RetryRule.
    """

    def __init__(self, rules: Sequence[RetryRule], default: RetryAction | str = RetryAction.DEFAULT) -> None:
        for one in rules:
            if not isinstance(one, RetryRule):
                raise ValueError(f"ExceptionRetryPolicy: {one!r} is no RetryRule")
        self.rules = tuple(rules)
        self.default = RetryAction(default)

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,  # noqa: ARG002 - the contract of policies
        max_tries: int,  # noqa: ARG002
        context: Mapping[str, Any],  # noqa: ARG002
    ) -> RetryDecision:
        """Return what the first rule says that matches ``exception``."""
        for rule in self.rules:
            if rule.matches(exception):
                return rule.decision()
        return RetryDecision(self.default)


def _delay(value: timedelta | float | None) -> timedelta | None:
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        value = timedelta(seconds=value)
    if not isinstance(value, timedelta) or value < timedelta(0):
        raise ValueError(f"RetryRule: retry_delay={value!r} cannot be used: expected a timedelta or seconds")
    return value


def _names(kind: type[BaseException]) -> tuple[str, ...]:
    full = f"{kind.__module__}.{kind.__qualname__}"
    return (full, kind.__qualname__) if kind.__module__ == "builtins" else (full,)
