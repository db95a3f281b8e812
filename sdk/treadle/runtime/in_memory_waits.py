"""Waits in memory, for ``dag.test()``: how long a sensor has waited, what other DAGs do, what people answer.

There is no other DAG and nobody to ask: other DAGs have no runs, and a human step is answered as the test says, or by
its defaults.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from treadle.errors import TreadleError
from treadle.wording import did_you_mean


class InMemoryWaits:
    """Answers the questions of sensors and human steps (``treadle.runtime.supervisor.Supervisor``)."""

    def __init__(self) -> None:
        self._waits: dict[str, tuple[float, int]] = {}
        self.answers: dict[str, Any] = {}
        """What people answer: by the task's id or the question's subject an option, several, or a dict of ``chosen``
        and ``given``."""

    def note_wait(self, of: str, wait: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the contract's
        """Note one poke in vain."""
        began, pokes = self._waits.get(of, (time.monotonic(), 0))
        self._waits[of] = (began, pokes + 1)
        return {"waited": time.monotonic() - began, "pokes": pokes + 1, "at": datetime.now(UTC).isoformat()}

    def get_states(self, question: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Return that there are no runs of other DAGs."""
        return {"runs": [], "missing": []}

    def ask_human(self, of: str, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answer as the test says, else with the defaults.

        Raises:
            TreadleError: the test says nothing, and there are no defaults; or what it says is no option.
        """
        found = self.answers.get(of.partition("[")[0], self.answers.get(question["subject"]))
        if found is None and question["defaults"] is None:
            raise TreadleError(
                f"nobody can answer {question['subject']!r} in a test: give dag.test(answers={{task_id: option}}), or "
                "the operator defaults"
            )
        told = found if isinstance(found, Mapping) else {"chosen": question["defaults"] if found is None else found}
        chosen = [told["chosen"]] if isinstance(told["chosen"], str) else list(told["chosen"])
        known = question["options"]
        for one in chosen:
            if one not in known:
                raise TreadleError(f"{one!r} is no option of {question['subject']!r}{did_you_mean(one, known)}")
        values = {name: param["value"] for name, param in question["params"].items()} | dict(told.get("given") or {})
        return {
            "is_new": False,
            "state": "answered",
            "due_at": None,
            "chosen": chosen,
            "given": values,
            "answered_at": datetime.now(UTC).isoformat(),
            "answered_by": None if found is None else "test",
            "timed_out": found is None,
        }
