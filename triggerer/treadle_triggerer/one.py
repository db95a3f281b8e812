"""One trigger in the loop: made, run until it fires, cancelled, or put down for another triggerer to take up.

Called by ``runner``. Whatever its code does is its own: an error becomes its event, and nobody else's trouble. Only a
cancelled trigger's ``on_cancel`` is called; ``cleanup`` is, whenever it no longer runs here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Final, cast

from treadle import xcom
from treadle.runtime.masking import MASKER
from treadle.triggers.base import BaseTaskEndEvent, BaseTrigger, TriggerEvent
from treadle.triggers.making import make
from treadle_triggerer.callbacks import CallbackTrigger
from treadle_triggerer.capture import CURRENT
from treadle_triggerer.loading import Classes, File

Event = dict[str, Any]
Report = Callable[[Event], Awaitable[None]]
"""Takes an event; what it returns is done once the server has recorded it."""

CLEANUP_SECONDS: Final = 10.0
CANCEL_SECONDS: Final = 60.0
_LONGEST_PAUSE: Final = 60.0
_WELL_SECONDS: Final = 30.0
"""A watcher that has failed is well again when it has run for so long."""

_MOST_TRACEBACK: Final = 16 * 1024

log = logging.getLogger("treadle.triggerer")


class RunningTrigger:
    """One trigger, as the server gave it."""

    def __init__(self, row: Mapping[str, Any], file: File | None, classes: Classes) -> None:
        self.id: int = row["id"]
        self.weight: int = row["weight"]
        self.classpath: str = row["classpath"]
        self.task: asyncio.Task[None] | None = None
        self.is_leaving = False
        self._is_cancelled = False
        self._kwargs: str | None = row["kwargs"]
        self._problem: str | None = row.get("problem")
        self._is_watcher: bool = row["is_watcher"]
        self._file = file
        self._classes = classes
        self._trigger: BaseTrigger | None = None

    async def run(self, report: Report) -> None:
        """Run it until it has fired; a watcher runs for ever. Errors are reported, never raised."""
        CURRENT.set(self.id)
        try:
            await self._run(report)
        except asyncio.CancelledError:
            if not self.is_leaving:
                # Nobody asked: its own code cancelled the task that it runs in.
                _ = report(failed(self.id, RuntimeError("the trigger cancelled itself")))
                return
            raise
        except Exception as error:
            _ = report(failed(self.id, error))
        finally:
            if not self._is_cancelled:  # what is cancelled is cleaned up after its on_cancel
                await self._clean_up()

    async def _run(self, report: Report) -> None:
        if self._is_watcher:
            await self._watch(report)
            return
        trigger = await self._made()
        events = cast("AsyncGenerator[TriggerEvent, None]", trigger.run())
        async with contextlib.aclosing(events):
            async for event in events:
                _ = report(event_of(self.id, event))
                return
        raise RuntimeError("the trigger ended without an event")

    async def _watch(self, report: Report) -> None:
        """Run a watcher again and again: one that ends or fails is begun anew after a pause (case A56)."""
        failures = 0
        loop = asyncio.get_running_loop()
        while True:
            # One that fails no more may see no event for long; it is well all the same.
            well = loop.call_later(_WELL_SECONDS, report, {"id": self.id, "kind": "well"}) if failures else None
            try:
                trigger = await self._made()
                events = cast("AsyncGenerator[TriggerEvent, None]", trigger.run())
                async with contextlib.aclosing(events):
                    async for event in events:
                        failures = 0
                        await report(event_of(self.id, event))
            except Exception as error:
                log.exception("a watcher failed; it begins anew")
                _ = report({"id": self.id, "kind": "trouble", "error": _sentence(error)})
                failures += 1
            finally:
                if well is not None:
                    well.cancel()
            await self._clean_up()
            await asyncio.sleep(min(_LONGEST_PAUSE, 2.0 ** min(failures, 6)) * random.uniform(0.5, 1.0))

    async def _made(self) -> BaseTrigger:
        if self._problem is not None or self._kwargs is None:
            raise ValueError(self._problem or "its arguments are missing")
        kind = await self._classes.find(self.classpath, self._file)
        trigger = self._trigger = make(kind, self._kwargs)
        if isinstance(trigger, CallbackTrigger) and self._file is not None:
            trigger.file = self._file
        return trigger

    async def cancel(self, reason: str) -> None:
        """Stop it, and tell it that nobody waits any more; ``reason``: what became of its task."""
        self._is_cancelled = True
        await self.put_down()
        CURRENT.set(self.id)
        try:
            trigger = self._trigger or await self._made()
            if reason != "success" or trigger.cancelled_by_success:
                async with asyncio.timeout(CANCEL_SECONDS):
                    await trigger.on_cancel()
        except Exception:
            log.exception("on_cancel of %s failed", self.classpath)
        await self._clean_up()

    async def put_down(self) -> None:
        """Stop running it here; the wait goes on elsewhere."""
        self.is_leaving = True
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task], timeout=CLEANUP_SECONDS)

    async def _clean_up(self) -> None:
        if self._trigger is None or type(self._trigger).cleanup is BaseTrigger.cleanup:
            return
        await _quietly(self._trigger.cleanup(), self.classpath)


async def _quietly(cleaning: Awaitable[None], classpath: str) -> None:
    try:
        async with asyncio.timeout(CLEANUP_SECONDS):
            await cleaning
    except Exception:
        log.exception("cleanup of %s failed", classpath)


def event_of(trigger: int, event: TriggerEvent) -> Event:
    """Return what is reported of an event.

    Raises:
        TypeError: it is no event.
        XComTypeError: its payload cannot be carried.
    """
    if isinstance(event, BaseTaskEndEvent):
        dumped = {key: xcom.dumps(value, key=key) for key, value in event.xcoms.items()}
        pushed = [{"key": key, "value": text, "length": length} for key, (text, length) in dumped.items()]
        reason = MASKER.mask(str(event.reason))
        return {"id": trigger, "kind": "end", "outcome": event.outcome, "reason": reason, "xcoms": pushed}
    if not isinstance(event, TriggerEvent):
        raise TypeError(f"the trigger yielded {event!r:.200}; expected a TriggerEvent")
    text = xcom.dumps(event.payload, key="payload of the event")[0]
    return {"id": trigger, "kind": "event", "payload": text, "plain": xcom.to_plain(text)}


def failed(trigger: int, error: BaseException) -> Event:
    """Return what is reported of a trigger that failed."""
    # Masked before it is cut: a half of a secret would not be known as one.
    text = MASKER.mask("".join(traceback.format_exception(error)))[-_MOST_TRACEBACK:]
    return {"id": trigger, "kind": "failed", "error": _sentence(error), "traceback": text}


def _sentence(error: BaseException) -> str:
    return MASKER.mask(f"{type(error).__name__}: {error}")
