"""Questions to people, and their answers, as the official client reads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_webserver.shapes.runs import InstanceShape, TryShape, instance_shape, try_shape
from treadle_webserver.shapes.times import utc


class HumanShape(TypedDict):
    """Somebody who may answer, or did."""

    id: str
    name: str


class _StepShape(TypedDict):
    options: list[str]
    subject: str
    body: str | None
    defaults: list[str] | None
    multiple: bool
    params: dict[str, Any]
    assigned_users: list[HumanShape]
    created_at: datetime | None
    due_at: datetime | None
    """Treadle's own: until when it can be answered."""
    responded_by_user: HumanShape | None
    responded_at: datetime | None
    chosen_options: list[str] | None
    params_input: dict[str, Any]
    response_received: bool
    timed_out: bool
    """Treadle's own: nobody answered in time, and the defaults are the answer, if there are any."""


class HumanStepShape(_StepShape):
    """A question, of the task instance that asks."""

    task_instance: InstanceShape


class HumanStepListShape(TypedDict):
    """A page of questions."""

    hitl_details: list[HumanStepShape]
    total_entries: int | None
    total_entries_limit: int | None
    next_cursor: str | None
    previous_cursor: str | None


class HumanStepOfTryShape(_StepShape):
    """A question that a try asked."""

    task_instance: TryShape


class AnswerShape(TypedDict):
    """An answer that was accepted."""

    responded_by: HumanShape
    responded_at: datetime | None
    chosen_options: list[str]
    params_input: dict[str, Any]


def human_step_shape(row: Mapping[str, Any]) -> HumanStepShape:
    """Return a row of ``queries.human_steps`` as a question."""
    return {"task_instance": instance_shape(row), **_step(row)}


def step_of_try_shape(row: Mapping[str, Any], attempt: Mapping[str, Any]) -> HumanStepOfTryShape:
    """Return a question with the attempt (a row of ``list_tries``) that asked it."""
    return {"task_instance": try_shape(row, attempt), **_step(row)}


def answer_shape(step: Mapping[str, Any]) -> AnswerShape:
    """Return what ``human_steps.respond`` returned."""
    return {
        "responded_by": _human(step["answered_by"]),
        "responded_at": utc(step["answered_at"]),
        "chosen_options": step["chosen"],
        "params_input": step["given"],
    }


def _human(name: str) -> HumanShape:
    return {"id": name, "name": name}


def _step(row: Mapping[str, Any]) -> _StepShape:
    return {
        "options": row["options"],
        "subject": row["subject"],
        "body": row["body"],
        "defaults": row["defaults"],
        "multiple": row["multiple"],
        "params": row["params"],
        "assigned_users": [{"id": one["id"], "name": one.get("name") or one["id"]} for one in row["assignees"]],
        "created_at": utc(row["asked_at"]),
        "due_at": utc(row["due_at"]),
        "responded_by_user": None if row["answered_by"] is None else _human(row["answered_by"]),
        "responded_at": utc(row["answered_at"]),
        "chosen_options": row["chosen"],
        "params_input": row["given"] or {},
        "response_received": row["answered_at"] is not None,
        "timed_out": row["timed_out"],
    }
