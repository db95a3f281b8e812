"""Triggers that wait for tasks and runs of other DAGs. What the server knows is asked of it: states, nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from treadle.moments import moment_of, utc_text
from treadle.triggers import asking
from treadle.triggers.base import BaseTrigger, TriggerEvent
from treadle.triggers.polling import pause, seconds_of

RunStates = Mapping[str, Any]
"""``runs``: a list of ``logical_date``, ``run_id``, ``state`` and ``tasks`` ({task id: {state: instances}})."""


class WorkflowTrigger(BaseTrigger):
    """Waits for tasks of another DAG in its runs of certain logical dates, or for these runs if no task is named.

    All instances of all of them must be in one of ``allowed_states`` (default: success). One in ``failed_states`` or
    ``skipped_states`` ends the wait, too. The event: ``status`` (success, failed or skipped) and ``states``.
    """

    def __init__(
        self,
        external_dag_id: str,
        *,
        logical_dates: Sequence[datetime | str],
        external_task_ids: Collection[str] | None = None,
        external_task_group_id: str | None = None,
        allowed_states: Collection[str] = ("success",),
        failed_states: Collection[str] = (),
        skipped_states: Collection[str] = (),
        poke_interval: float = 5.0,
    ) -> None:
        self.arguments: dict[str, Any] = {
            "external_dag_id": external_dag_id,
            "logical_dates": [str(utc_text(moment_of(one))) for one in logical_dates],
            "external_task_ids": None if external_task_ids is None else sorted(external_task_ids),
            "external_task_group_id": external_task_group_id,
            "allowed_states": sorted(allowed_states),
            "failed_states": sorted(failed_states),
            "skipped_states": sorted(skipped_states),
            "poke_interval": seconds_of(poke_interval),
        }

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return "treadle.triggers.external.WorkflowTrigger", self.arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until it is decided."""
        given = self.arguments
        while True:
            found = await asking.ask(
                "get_states",
                dag_id=given["external_dag_id"],
                logical_dates=given["logical_dates"],
                task_ids=given["external_task_ids"],
                group_id=given["external_task_group_id"],
                check=False,
            )
            states = self._states(found)
            status = self._status(states, len(found["runs"]))
            if status is not None:
                yield TriggerEvent({"status": status, "states": states})
                return
            await pause(given["poke_interval"])

    def _states(self, found: RunStates) -> dict[str, int]:
        """Return how many of what is waited for are in which state; what has no instance yet counts as none."""
        given = self.arguments
        counts: dict[str, int] = {}
        for run in found["runs"]:
            of_tasks = given["external_task_ids"] is not None or given["external_task_group_id"] is not None
            for states in run["tasks"].values() if of_tasks else [{run["state"]: 1}]:
                for state, count in (states or {"none": 1}).items():
                    counts[state] = counts.get(state, 0) + count
        return counts

    def _status(self, states: Mapping[str, int], runs: int) -> str | None:
        given = self.arguments
        for kind, status in (("failed_states", "failed"), ("skipped_states", "skipped")):
            if any(states.get(one) for one in given[kind]):
                return status
        is_all = runs == len(given["logical_dates"]) and bool(states)
        return "success" if is_all and set(states) <= set(given["allowed_states"]) else None


class DagStateTrigger(BaseTrigger):
    """Waits until runs of a DAG, named by their ids, are all in one of ``states`` (default: success or failed).

    The event: ``run_states``, the states by run id. A run that does not exist is waited for.
    """

    def __init__(
        self,
        dag_id: str,
        run_ids: Sequence[str],
        *,
        states: Collection[str] = ("success", "failed"),
        poll_interval: float = 5.0,
    ) -> None:
        self.dag_id = dag_id
        self.run_ids = list(run_ids)
        self.states = sorted(states)
        self.poll_interval = seconds_of(poll_interval)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        kwargs = {"dag_id": self.dag_id, "run_ids": self.run_ids, "states": self.states}
        return "treadle.triggers.external.DagStateTrigger", kwargs | {"poll_interval": self.poll_interval}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until all of them are there."""
        while True:
            found: dict[str, str] = await asking.ask("get_run_states", dag_id=self.dag_id, run_ids=self.run_ids)
            if all(found.get(one) in self.states for one in self.run_ids):
                yield TriggerEvent({"run_states": found})
                return
            await pause(self.poll_interval)
