"""Journals of durable steps in memory, for ``dag.test()``: a retry of the same test replays, the next test begins anew.

Sleeps are over at once. There is no outside party, so an awakeable cannot be waited for.
"""

from __future__ import annotations

import secrets
import uuid
from datetime import UTC, datetime
from typing import Any

from treadle.errors import StepError


class InMemoryJournals:
    """Answers the questions about durable steps (``treadle.runtime.supervisor.Supervisor``)."""

    def __init__(self) -> None:
        self._journals: dict[str, tuple[str, dict[tuple[str, str], str]]] = {}

    def open_journal(self, of: str, plan: str, conn_id: str | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Open the journal of a task instance."""
        journal_id, steps = self._journals.setdefault(of, (str(uuid.uuid4()), {}))
        recorded = [{"name": name, "inputs": inputs, "value": value} for (name, inputs), value in steps.items()]
        return {"id": journal_id, "plan": plan, "steps": recorded}

    def record_step(self, of: str, step: dict[str, str]) -> str | None:
        """Record a step; return the value that stands there already, if one does."""
        steps, key = self._journals[of][1], (step["name"], step["inputs"])
        return None if steps.setdefault(key, step["value"]) is step["value"] else steps[key]

    def read_step(self, of: str, step: dict[str, str]) -> str:
        """Return the recorded value of a step."""
        return self._journals[of][1][step["name"], step["inputs"]]

    def record_step_failure(self, of: str, failure: dict[str, Any]) -> None:
        """Nothing: a test shows its log."""

    def wait_for_step(self, of: str, step: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the contract's
        """Say that a sleep is over."""
        if step["kind"] == "awakeable":
            raise StepError(f"awakeable {step['name']!r} cannot be waited for in a test: nobody can post its token")
        now = datetime.now(UTC).isoformat()
        return {"state": "done", "due_at": now, "value": None, "token": secrets.token_urlsafe(8)}
