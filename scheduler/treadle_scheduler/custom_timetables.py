"""Custom timetables are asked beside the loop: a beat never waits for user code (cases A4, A75).

A DAG that is due is asked about in a thread; until the answer is there the DAG is not claimed again, and every other
goes its way. The answer wakes the loop, which takes it if the DAG still stands where it stood, else asks again. Nothing
is kept over a crash: a scheduler that starts asks anew.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from treadle.errors import InvalidSchedule
from treadle.timetables.planning import Missed, MissedReason, Plan, Situation
from treadle.timetables.remote import (
    Evaluator,
    ask,
    info_of,
    interval_json,
    interval_of,
    moment_of,
    restriction_json,
    text_of,
)
from treadle_metadata.deciding.graph import Graph
from treadle_scheduler.calendar import restriction_of

log = logging.getLogger(__name__)

_Key = tuple[Any, ...]


class CustomTimetables:
    """The questions under way and the answers not yet taken, by DAG.

    Without ``wake`` each question is waited for: for a loop that somebody calls beat by beat.
    """

    def __init__(self, evaluator: Evaluator = ask, wake: Callable[[], None] | None = None) -> None:
        self._evaluator, self._wake = evaluator, wake
        self._asked: set[str] = set()
        self._answers: dict[str, tuple[_Key, Plan | Exception]] = {}
        self._lock = threading.Lock()

    def asked(self) -> list[str]:
        """Return the DAGs whose timetable is being asked."""
        with self._lock:
            return list(self._asked)

    def plan(self, graph: Graph, at: Situation) -> Plan | None:
        """Return the plan if the answer is there, else ask, and return None.

        Raises:
            InvalidSchedule: the timetable raised, did not answer in time, or answered nonsense.
        """
        if self._wake is None:
            return _taken(self._answer(graph, at))
        key = (graph.version_id, at.last, at.resumed_at, at.held_since, at.skips)
        with self._lock:
            known, answer = self._answers.pop(graph.dag_id, (None, None))
            if answer is None or known != key:
                if graph.dag_id not in self._asked:
                    self._asked.add(graph.dag_id)
                    name = f"timetable of {graph.dag_id}"
                    asked = (graph, at, key, self._wake)
                    threading.Thread(target=self._ask, args=asked, name=name, daemon=True).start()
                return None
        return _taken(answer)

    def _ask(self, graph: Graph, at: Situation, key: _Key, wake: Callable[[], None]) -> None:
        answer = self._answer(graph, at)
        with self._lock:
            self._asked.discard(graph.dag_id)
            self._answers[graph.dag_id] = key, answer
        wake()

    def _answer(self, graph: Graph, at: Situation) -> Plan | Exception:
        try:
            return _checked(_plan_of(self._evaluator(graph.document.schedule, _question(graph, at))), at)
        except Exception as error:
            return error


def _taken(answer: Plan | Exception) -> Plan:
    if isinstance(answer, Exception):
        raise answer
    return answer


def _question(graph: Graph, at: Situation) -> dict[str, Any]:
    situation = {
        "now": text_of(at.now),
        "last": interval_json(at.last),
        "resumed_at": text_of(at.resumed_at),
        "held_since": text_of(at.held_since),
        "skips": at.skips,
    }
    return {"ask": "plan", "at": situation, "restriction": restriction_json(restriction_of(graph.document))}


def _plan_of(plain: Any) -> Plan:
    try:
        return Plan(
            due=plain["due"] and info_of(plain["due"]),
            following=plain["following"] and info_of(plain["following"]),
            last=plain["last"] and interval_of(plain["last"]),
            missed=tuple(_missed_of(one) for one in plain["missed"]),
        )
    except (KeyError, TypeError) as error:
        raise InvalidSchedule("The custom timetable's plan", plain, "cannot be read.") from error


def _missed_of(plain: Any) -> Missed:
    moments = {name: moment_of(plain[name]) for name in ("run_after", "logical_date", "last_run_after")}
    slots, reason = plain["slots"], plain["reason"]
    if reason not in set(MissedReason) or not isinstance(slots, int | None):
        raise InvalidSchedule("The custom timetable's missed time", plain, "cannot be read.")
    return Missed(slots=slots, reason=MissedReason(reason), **moments)


def _checked(plan: Plan, at: Situation) -> Plan:
    """Return ``plan``. The process that made it ran user code: what it says is taken only if it moves forward."""
    coming = [one for one in (plan.due, plan.following) if one is not None]
    starts = [at.last.start] if at.last else []
    starts += [one.logical_date for one in coming]
    if any(later <= earlier for earlier, later in pairwise(starts)):
        raise InvalidSchedule("The timetable's logical dates", [one.isoformat() for one in starts], "do not increase.")
    if any(one.data_interval.end < one.data_interval.start for one in coming):
        raise InvalidSchedule("The timetable's data interval", coming, "ends before it starts.")
    if plan.due is not None and plan.due.run_after > at.now:
        raise InvalidSchedule("The timetable's run", plan.due.run_after.isoformat(), "is not due yet.")
    return plan
