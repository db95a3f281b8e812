"""How long a sensor waits until its next poke. Pure.

With exponential back-off each pause is twice as long as the one before, up to ``max_wait``. A tenth of it, taken from
a hash of the instance and the poke, is added, so that sensors that began together do not stay together.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

_MOST_DOUBLINGS: Final = 40
_SPREAD: Final = 0.1


@dataclass(frozen=True, slots=True)
class Pauses:
    """The settings of a sensor's pauses, in seconds."""

    poke_interval: float
    timeout: float
    exponential_backoff: bool = False
    max_wait: float | None = None

    def next(self, pokes: int, waited: float, of: str) -> float | None:
        """Return the pause after the poke number ``pokes``, ``waited`` seconds after the first attempt began.

        None once the timeout is over. The last pause ends with the timeout, so that a last look is taken then.
        """
        left = self.timeout - waited
        if left <= 0:
            return None
        return min(left, self._length(pokes, of))

    def _length(self, pokes: int, of: str) -> float:
        if not self.exponential_backoff:
            return self.poke_interval
        pause = self.poke_interval * 2.0 ** min(max(0, pokes - 1), _MOST_DOUBLINGS)
        pause *= 1 + _SPREAD * _share(f"{of}#{pokes}")
        return pause if self.max_wait is None else min(pause, self.max_wait)


def _share(text: str) -> float:
    """Return a number from 0 to 1 that is always the same for ``text``."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32
