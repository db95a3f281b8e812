"""Asks a task's retry policy about an attempt that failed, in the task's own process.

Called by the task runtime for a failure that has tries left. Whatever the policy does, the attempt gets an ending: one
that raises, or answers something else than a decision, is logged and counts as having said nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from treadle.retry_policies import LONGEST_REASON, RetryAction, RetryDecision
from treadle.runtime import masking
from treadle.runtime.outcomes import Ending
from treadle.runtime.showing import storable_text

if TYPE_CHECKING:
    from treadle.retry_policies import RetryPolicy
    from treadle.runtime.task_instance import TaskInstance

log = logging.getLogger("treadle.task")


def decided(
    ending: Ending, policy: RetryPolicy, raised: BaseException, ti: TaskInstance, context: Mapping[str, Any]
) -> tuple[Ending, float | None]:
    """Return how an attempt ends whose policy was asked, and the seconds until its next try if it has its own."""
    decision = _decision(policy, raised, ti, context)
    if decision.action is RetryAction.DEFAULT:
        return ending, None
    reason = storable_text(masking.mask(decision.reason or ""))[:LONGEST_REASON]
    log.info("The retry policy says %s%s", decision.action, f": {reason}" if reason else "")
    told = {"retry_action": str(decision.action)} | ({"retry_reason": reason} if reason else {})
    ending = replace(ending, error={**(ending.error or {}), **told})
    if decision.action is RetryAction.FAIL:
        return replace(ending, outcome="failed_without_retry"), None
    return ending, None if decision.retry_delay is None else decision.retry_delay.total_seconds()


def _decision(
    policy: RetryPolicy, raised: BaseException, ti: TaskInstance, context: Mapping[str, Any]
) -> RetryDecision:
    try:
        decision = policy.evaluate(raised, ti.try_number, ti.max_tries, context)
        if not isinstance(decision, RetryDecision) or not isinstance(decision.retry_delay, timedelta | None):
            raise TypeError(
                f"evaluate() must return a RetryDecision with a timedelta or no delay; it gave {decision!r}"
            )
        return replace(decision, action=RetryAction(decision.action))
    except Exception:
        log.exception("The retry policy failed; the task's own retries count")
        return RetryDecision.default()
