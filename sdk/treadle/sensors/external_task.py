"""Sensors across DAGs: waiting for tasks or runs of another DAG, and passing a clear on to it.

What runs of other DAGs do is asked of the server through the runner host: states only, of the runs of certain logical
dates (specification, section 7). The answer's meaning is worked out here. For what one DAG makes and another uses,
assets are the better tie: this one breaks when the other DAG's schedule changes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

from treadle.errors import InvalidArgumentError, NotInTaskError, SkipTask
from treadle.errors_of_waits import ExternalTaskError
from treadle.operators.empty import EmptyOperator
from treadle.operators.python import keywords_for
from treadle.runtime import current
from treadle.sensors.base import BaseSensor
from treadle.sensors.deferred import Deferred
from treadle.wording import did_you_mean

if TYPE_CHECKING:
    from treadle.document import MarkerDocument

RUN_STATES: Final = ("queued", "running", "success", "failed")
TASK_STATES: Final = (
    *("none", "scheduled", "queued", "running", "success", "failed", "skipped", "upstream_failed", "up_for_retry"),
    *("up_for_reschedule", "deferred", "removed", "restarting"),
)

States = Mapping[str, int]
"""How many instances are in which state."""


class ExternalTaskSensor(Deferred, BaseSensor):
    """Waits for tasks of another DAG, in its run of the same logical date, or for the run itself if none is named.

    ``external_task_id``, ``external_task_ids`` or ``external_task_group_id`` name tasks; all instances of all of them
    must be in one of ``allowed_states`` (default: success). One in ``failed_states`` fails the sensor (skips it, with
    ``soft_fail``), one in ``skipped_states`` skips it. ``execution_delta`` is how much earlier the other run's logical
    date is; ``execution_date_fn(logical_date)`` returns it, or a list of dates that all must be there. With
    ``check_existence`` the sensor fails at once if the DAG, the task or the group does not exist.

    Raises:
        InvalidArgumentError: arguments exclude each other, or a state is none.
    """

    can_defer: ClassVar[bool] = True
    template_fields: Collection[str] = (
        "external_dag_id",
        "external_task_id",
        "external_task_ids",
        "external_task_group_id",
    )

    def __init__(
        self,
        *,
        external_dag_id: str,
        external_task_id: str | None = None,
        external_task_ids: Collection[str] | None = None,
        external_task_group_id: str | None = None,
        allowed_states: Collection[str] | None = None,
        skipped_states: Collection[str] | None = None,
        failed_states: Collection[str] | None = None,
        execution_delta: timedelta | None = None,
        execution_date_fn: Callable[..., datetime | Sequence[datetime]] | None = None,
        check_existence: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.external_dag_id = external_dag_id
        self.external_task_id = external_task_id
        self.external_task_ids: Any = list(external_task_ids) if external_task_ids is not None else None
        self.external_task_group_id = external_task_group_id
        self.allowed_states = frozenset(allowed_states if allowed_states is not None else ("success",))
        self.skipped_states = frozenset(skipped_states or ())
        self.failed_states = frozenset(failed_states or ())
        self.execution_delta = execution_delta
        self.execution_date_fn = execution_date_fn
        self.check_existence = check_existence
        self._is_checked = False
        self._check_arguments()

    def _check_arguments(self) -> None:
        named = (self.external_task_id, self.external_task_ids, self.external_task_group_id)
        if sum(one is not None for one in named) > 1:
            self._refuse("external_task_id", "one of external_task_id, external_task_ids, external_task_group_id")
        if self.execution_delta is not None and self.execution_date_fn is not None:
            self._refuse("execution_delta", "execution_delta or execution_date_fn, not both")
        for name in ("allowed_states", "skipped_states", "failed_states"):
            self._check_states(name)
        kinds = (self.allowed_states, self.skipped_states, self.failed_states)
        if len(frozenset().union(*kinds)) < sum(map(len, kinds)):
            self._refuse("allowed_states", "each state in one of allowed_states, skipped_states and failed_states")

    def _check_states(self, name: str) -> None:
        known = TASK_STATES if self._names_tasks() else RUN_STATES
        for state in sorted(getattr(self, name)):
            if str(state) not in known:
                self._refuse(name, f"states such as {', '.join(known)}{did_you_mean(str(state), known)}")

    def _names_tasks(self) -> bool:
        return bool(self.external_task_id or self.external_task_ids or self.external_task_group_id)

    def _refuse(self, name: str, expected: str) -> None:
        raise InvalidArgumentError(repr(self), name, getattr(self, name), expected, site=self.site)

    def poke(self, context: Any) -> bool:
        """Ask for the states.

        Raises:
            ExternalTaskError: something is in a state of failure, or does not exist.
            SkipTask: something is in one of ``skipped_states``.
        """
        supervisor = current.supervisor()
        if supervisor is None:
            raise NotInTaskError(f"poke() of {self!r}")
        dates = self.dates(context)
        answer = supervisor.get_states(
            {
                "dag_id": self.external_dag_id,
                "logical_dates": [one.isoformat() for one in dates],
                "task_ids": self._tasks(),
                "group_id": self.external_task_group_id,
                "check": self.check_existence and not self._is_checked,
            }
        )
        if answer["missing"]:
            raise ExternalTaskError(f"there is no {', no '.join(answer['missing'])}")
        self._is_checked = True
        runs = answer["runs"]
        self.log.info("%s: %s", self.external_dag_id, _listed(runs) or "no run of " + ", ".join(map(str, dates)))
        judged = [self.judge(one) for one in runs]
        return len(runs) == len(set(dates)) and all(judged)

    def _tasks(self) -> list[str]:
        return [self.external_task_id] if self.external_task_id else list(self.external_task_ids or ())

    def trigger(self, context: Any) -> Any:
        """Return the trigger that asks for the states in the triggerer."""
        kind = importlib.import_module("treadle.triggers").WorkflowTrigger
        return kind(
            self.external_dag_id,
            logical_dates=self.dates(context),
            external_task_ids=self._tasks() or None,
            external_task_group_id=self.external_task_group_id,
            allowed_states=self.allowed_states,
            failed_states=self.failed_states,
            skipped_states=self.skipped_states,
            poke_interval=self.poke_interval.total_seconds(),
        )

    def received(self, context: Any, event: Any) -> None:  # noqa: ARG002 - the contract of sensors
        """Heed what the trigger found.

        Raises:
            ExternalTaskError: something is in a state of failure.
            SkipTask: something is in one of ``skipped_states``; or of ``failed_states``, with ``soft_fail``.
        """
        if event["status"] == "success":
            return
        counted = ", ".join(f"{number} {state}" for state, number in sorted(event["states"].items()))
        sentence = f"what is waited for of {self.external_dag_id} has come to {event['status']}: {counted}"
        if event["status"] == "skipped" or self.soft_fail:
            raise SkipTask(sentence)
        raise ExternalTaskError(sentence)

    def judge(self, run: Mapping[str, Any]) -> bool:
        """Return whether a run is as far as it is waited for.

        Raises:
            ExternalTaskError: it, or a task of it, is in a state of failure.
            SkipTask: it, or a task of it, is in one of ``skipped_states``.
        """
        counted: dict[str, States] = run["tasks"] if self._names_tasks() else {"the run": {run["state"]: 1}}
        for name, states in counted.items():
            what = f"{self.external_dag_id}: {name} of run {run['run_id']}"
            for state in sorted(states):
                if state in self.failed_states:
                    sentence = f"{what} is {state}"
                    raise SkipTask(sentence) if self.soft_fail else ExternalTaskError(sentence)
                if state in self.skipped_states:
                    raise SkipTask(f"{what} is {state}")
        return bool(counted) and all(states and self.allowed_states >= states.keys() for states in counted.values())

    def dates(self, context: Any) -> list[datetime]:
        """Return the logical dates of the runs that are waited for.

        Raises:
            ExternalTaskError: this run has no logical date that they could be worked out from.
        """
        own = context["dag_run"].logical_date
        if own is None:
            raise ExternalTaskError(
                f"run {context['run_id']!r} has no logical date, so no run of {self.external_dag_id!r} can be matched "
                "with it: give it one (treadle dags trigger --logical-date)"
            )
        if self.execution_date_fn is None:
            return [own - (self.execution_delta or timedelta(0))]
        keywords = keywords_for(self.execution_date_fn, (own,), {}, context)
        found = self.execution_date_fn(own, **keywords)
        return list(found) if isinstance(found, (list, tuple, set, frozenset)) else [found]  # type: ignore[list-item]


class ExternalTaskMarker(EmptyOperator):
    """Says that ``external_task_id`` of another DAG waits for this task: clearing this one clears that one, too.

    In its run of the same logical date, or ``execution_delta`` later (as the sensor there has it), with all tasks after
    it; where that meets a further marker, the clear goes on, over at most ``recursion_depth`` markers. The task itself
    does nothing.
    """

    def __init__(
        self,
        *,
        external_dag_id: str,
        external_task_id: str,
        execution_delta: timedelta = timedelta(0),
        recursion_depth: int = 10,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        if not isinstance(recursion_depth, int) or recursion_depth < 1:
            raise InvalidArgumentError(
                repr(self), "recursion_depth", recursion_depth, "a whole number, 1 or more", site=self.site
            )
        self.external_dag_id = external_dag_id
        self.external_task_id = external_task_id
        self.execution_delta = execution_delta
        self.recursion_depth = recursion_depth

    def marker(self) -> MarkerDocument:
        """Return what the task's document says of the task that waits for this one."""
        # Loaded on need: a task's process has no use for documents.
        kind: type[MarkerDocument] = importlib.import_module("treadle.document").MarkerDocument
        seconds = self.execution_delta.total_seconds()
        return kind(self.external_dag_id, self.external_task_id, seconds, self.recursion_depth)


def _listed(runs: Sequence[Mapping[str, Any]]) -> str:
    def one(run: Mapping[str, Any]) -> str:
        tasks = [f"{name} {_counted(states)}" for name, states in run["tasks"].items()]
        return f"run {run['run_id']} is {run['state']}" + (f" ({', '.join(tasks)})" if tasks else "")

    return "; ".join(map(one, runs))


def _counted(states: States) -> str:
    return "/".join(state if number == 1 else f"{number} {state}" for state, number in sorted(states.items())) or "-"
