"""What the server fails at each time it is told: set aside, and tried again alone, later and later.

Used by ``reporting``. Something is hopeless once the server has taken others' events since and this one never: then it
is this one's fault, and no outage. Nothing is kept of it on a crash, and its trigger runs again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
ENOUGH_TRIES: Final = 8
"""After so many, about two minutes, what the server has failed at is hopeless if it took others' events meanwhile."""

MOST_TRIES: Final = 30
"""After so many, about half an hour, it is hopeless though there was nothing else to take."""


@dataclass(slots=True)
class SetAside:
    """A part of a report: its ``kind`` and what it says. ``accepted``: what the server had taken by then."""

    kind: str
    part: Any
    accepted: int
    due_at: float
    tries: int = 1

    def is_hopeless(self, accepted: int) -> bool:
        """Tell whether it is this part's own fault; ``accepted``: how many events the server has taken by now."""
        return self.tries >= MOST_TRIES or (self.tries >= ENOUGH_TRIES and accepted > self.accepted)


@dataclass(slots=True)
class Aside:
    """What waits to be tried again; times are those of a monotonic clock, in seconds."""

    waiting: list[SetAside] = field(default_factory=list)

    def add(self, kind: str, part: Any, *, accepted: int, now: float) -> None:
        """Set aside what has failed for the first time."""
        self.waiting.append(SetAside(kind, part, accepted, now + FIRST_PAUSE))

    def take_due(self, now: float) -> list[SetAside]:
        """Return, and take out, what is to be tried now."""
        due = [one for one in self.waiting if one.due_at <= now]
        self.waiting = [one for one in self.waiting if one.due_at > now]
        return due

    def again(self, one: SetAside, now: float, *, counts: bool = True) -> None:
        """Have ``one`` tried again later; ``counts`` unless the server could not be reached at all."""
        one.due_at = now + min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(one.tries, 10))
        one.tries += counts
        self.waiting.append(one)

    def seconds(self, now: float) -> float | None:
        """Return for how long nothing is to be tried; None: nothing waits."""
        return max(0.0, min(one.due_at for one in self.waiting) - now) if self.waiting else None
