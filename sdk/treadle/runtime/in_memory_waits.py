"""Waits in memory, for ``dag.test()``: how long a sensor has waited, what other DAGs do, what people answer.

There is no other DAG and nobody to ask: other DAGs have no runs, and a human step takes its defaults.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any


class InMemoryWaits:
    """Answers the questions of sensors and human steps (``treadle.runtime.supervisor.Supervisor``)."""

    def __init__(self) -> None:
        self._waits: dict[str, tuple[float, int]] = {}

    def note_wait(self, of: str, wait: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the contract's
        """Note one poke in vain."""
        began, pokes = self._waits.get(of, (time.monotonic(), 0))
        self._waits[of] = (began, pokes + 1)
        return {"waited": time.monotonic() - began, "pokes": pokes + 1}

    def get_states(self, question: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Return that there are no runs of other DAGs."""
        return {"runs": [], "missing": []}
