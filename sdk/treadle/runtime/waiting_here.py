"""Waits for a deferred task's trigger in this process: for ``dag.test()`` and ``tasks test``, which have no triggerer.

The trigger is made anew from its arguments, as a triggerer would make it, so that a test finds what cannot be carried.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from treadle import xcom
from treadle.runtime.outcomes import error_of, traceback_of
from treadle.runtime.supervisor import AttemptResult
from treadle.triggers.base import BaseTaskEndEvent, TriggerEvent
from treadle.triggers.deferral import TIMED_OUT, TaskDeferralError
from treadle.triggers.making import made

log = logging.getLogger("treadle.dag_test")


def wait_here(ended: AttemptResult, go_on: Callable[[Mapping[str, Any]], AttemptResult]) -> AttemptResult:
    """Return how a deferred attempt ended after all its waits; ``go_on`` runs it again with a ``resume``."""
    first, pushed = datetime.now(UTC).isoformat(), list(ended.xcoms)
    while ended.deferral is not None:
        deferral = ended.deferral
        log.info("waiting for %s", deferral["classpath"])
        event, error = _event_of(deferral)
        if isinstance(event, BaseTaskEndEvent):
            ended = _ended_by(event)
        else:
            ended = go_on(
                {
                    "method": deferral["next_method"],
                    "kwargs": deferral["next_kwargs"],
                    "event": None if event is None else xcom.dumps(event.payload, key="event")[0],
                    "error": error,
                    "first_started_at": first,
                }
            )
        pushed += ended.xcoms
    ended.xcoms = pushed
    return ended


def _event_of(deferral: Mapping[str, Any]) -> tuple[TriggerEvent | None, dict[str, str] | None]:
    try:
        return asyncio.run(_first_event(deferral)), None
    except TimeoutError:
        sentence = f"no event came within the deferral's timeout of {deferral['timeout_seconds']:g} s"
        return None, {"kind": TIMED_OUT, "error": sentence}
    except Exception as raised:
        return None, {"kind": "exception", "error": str(raised), "traceback": traceback_of(raised)}


async def _first_event(deferral: Mapping[str, Any]) -> TriggerEvent:
    trigger = made(deferral["classpath"], deferral["kwargs"])
    events = cast("AsyncGenerator[TriggerEvent, None]", trigger.run())
    try:
        async with asyncio.timeout(deferral["timeout_seconds"]), contextlib.aclosing(events):
            return await anext(events)
    except StopAsyncIteration:
        raise TaskDeferralError(f"{deferral['classpath']} ended without an event") from None
    except TimeoutError:
        await trigger.on_cancel()
        raise
    finally:
        await trigger.cleanup()


def _ended_by(event: BaseTaskEndEvent) -> AttemptResult:
    pushed = [xcom.dumps(value, key=key) for key, value in event.xcoms.items()]
    xcoms = [
        {"key": key, "value": text, "length": length} for key, (text, length) in zip(event.xcoms, pushed, strict=True)
    ]
    error = None
    if event.outcome == "failed":
        error = error_of("exception", TaskDeferralError(event.reason or "the trigger ended the task as failed"))
    return AttemptResult(outcome=event.outcome, error=error, xcoms=xcoms)
