"""Why a deferred task waits: for which trigger, in which triggerer, and whether there is one at all. Pure.

The reading is done by ``treadle_metadata.queries.triggers``; asked by ``queries.why``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from treadle_metadata.deciding.reasons import Explanation, Reason
from treadle_metadata.deciding.why_task import InstanceFacts
from treadle_metadata.deciding.wording import ahead, instant


@dataclass(frozen=True, slots=True)
class WaitFacts:
    """A deferred task's trigger as its row has it; ``place`` is the host and pid of the triggerer that runs it."""

    classpath: str
    since: datetime
    due_at: datetime | None
    place: str | None
    trouble: str | None
    """What that triggerer says of its loop: a trigger that blocks it."""
    is_anybody_there: bool
    """Whether any triggerer lives."""


def deferred(one: InstanceFacts, wait: WaitFacts | None, now: datetime) -> Explanation:
    """Return what a deferred instance waits for, without a worker, and what is wrong if nobody looks."""
    if wait is None:
        return Explanation(Reason.DEFERRED, f"{one.name} waits for its trigger, without a worker", one.blocker)
    sentence = f"{one.name} waits for {wait.classpath.rpartition('.')[2]} since {instant(wait.since)}, without a worker"
    if wait.due_at is not None:
        sentence += f", until {ahead(wait.due_at, now)} at the latest"
    if wait.place is None and not wait.is_anybody_there:
        sentence += "; no triggerer is alive, so nobody looks: start one with treadle triggerer"
        return Explanation(Reason.NO_TRIGGERER, sentence, one.blocker, wait.due_at)
    if wait.place is None:
        sentence += "; no triggerer has taken it yet"
    elif wait.trouble is not None:
        sentence += f"; the triggerer on {wait.place} is in trouble: {wait.trouble}"
    else:
        sentence += f"; the triggerer on {wait.place} looks"
    return Explanation(Reason.DEFERRED, sentence, one.blocker, wait.due_at)
