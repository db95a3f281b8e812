"""Questions that tasks ask people: asked by a running attempt, answered once, by a person or by their defaults.

The task waits as ``up_for_reschedule``, as durable steps do: no slot, no worker, no triggerer, only its rows. Whoever
answers locks the instance before the question, as a finish does, so that an answer between an attempt's last look and
its end is not missed. The first answer stands: a later one is refused, and told who gave the first, and when.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle.errors import ParamError
from treadle.errors_of_waits import AN_ANSWER
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import ConflictError, ForbiddenError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.statements import execute, rows, tuples
from treadle_metadata.states import FINISHED
from treadle_metadata.transitions import runs, suspended

QUESTIONS: Final = frozenset({"ask_human"})

_LONGEST_SUBJECT: Final = 1000
_LARGEST: Final = 1024 * 1024
"""Characters of a question's body and form as JSON, and of an answer's."""

_LONGEST: Final = 100 * 366 * 86400.0
"""Seconds that an answer may be waited for."""

_MINE: Final = """
    SELECT id, month, try_number FROM task_instance
    WHERE id = %(task_instance_id)s AND month = %(month)s AND attempt_id = %(attempt_id)s AND state = 'running'
"""

# An earlier attempt of the same wait may have asked: its question, answered or not, is this one's.
_ASK: Final = f"""
    WITH mine AS ({_MINE})
    INSERT INTO human_step (task_instance_id, month, try_number, subject, body, options, defaults, multiple, params,
                            assignees, asked_at, due_at)
    SELECT id, month, try_number, %(subject)s, %(body)s, %(options)s::jsonb, %(defaults)s::jsonb, %(multiple)s,
           %(params)s::jsonb, %(assignees)s::jsonb, %(now)s, %(due_at)s
    FROM mine
    ON CONFLICT (task_instance_id, month) WHERE withdrawn_at IS NULL DO NOTHING
    RETURNING number
"""

_MY_STEP: Final = f"""
    SELECT step.* FROM ({_MINE}) AS mine
         JOIN human_step AS step ON step.task_instance_id = mine.id AND step.month = mine.month
              AND step.withdrawn_at IS NULL
    FOR UPDATE OF step
"""

# With defaults these are the answer; without, the question is over, and the next try asks anew.
_TIME_OUT: Final = """
    UPDATE human_step
    SET timed_out = true, chosen = defaults, given = CASE WHEN defaults IS NOT NULL THEN '{}'::jsonb END,
        answered_at = CASE WHEN defaults IS NOT NULL THEN %(now)s::timestamptz END,
        withdrawn_at = CASE WHEN defaults IS NULL THEN %(now)s::timestamptz END
    WHERE task_instance_id = %(task_instance_id)s AND month = %(month)s AND number = %(number)s
"""

_CURRENT: Final = """
    SELECT * FROM human_step WHERE task_instance_id = %(id)s AND month = %(month)s AND withdrawn_at IS NULL FOR UPDATE
"""

_ANSWER: Final = """
    UPDATE human_step
    SET answered_at = %(now)s, answered_by = %(by)s, chosen = %(chosen)s::jsonb, given = %(given)s::jsonb
    WHERE task_instance_id = %(task_instance_id)s AND month = %(month)s AND number = %(number)s
      AND answered_at IS NULL AND withdrawn_at IS NULL
"""

_LOCK: Final = "SELECT state FROM task_instance WHERE id = %(id)s AND month = %(month)s FOR NO KEY UPDATE"


def answer(connection: Connection, request: Mapping[str, Any], *, crypto: Crypto, now: datetime) -> Any:  # noqa: ARG001
    """Ask a person for a running attempt, or look at the answer (``treadle.runtime.supervisor.Supervisor.ask_human``).

    Raises:
        InvalidRequestError: the attempt is over, or the question is malformed.
    """
    of = {name: request[name] for name in ("attempt_id", "task_instance_id", "month")}
    asked = execute(connection, _ASK, {**of, **_checked_question(request["args"], now), "now": now})
    found = rows(connection, _MY_STEP, of)
    if not found:
        raise InvalidRequestError(f"attempt {of['attempt_id']} is over; it can ask nobody any more")
    step = found[0]
    if step["answered_at"] is None and step["due_at"] is not None and step["due_at"] <= now:
        execute(connection, _TIME_OUT, {**step, "now": now})
        over = {"timed_out": True, "chosen": step["defaults"], "given": {}}
        step = {**step, **over, "answered_at": now if step["defaults"] is not None else None}
    return {"is_new": bool(asked), **_told(step)}


def _told(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a task is told of its question."""
    state = "waiting" if step["answered_at"] is None else "answered"
    return {
        "state": "timed_out" if state == "waiting" and step["timed_out"] else state,
        "due_at": step["due_at"] and step["due_at"].isoformat(),
        "chosen": step["chosen"],
        "given": step["given"],
        "answered_at": step["answered_at"] and step["answered_at"].isoformat(),
        "answered_by": step["answered_by"],
        "timed_out": step["timed_out"],
    }


def _checked_question(args: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    subject, body, options, seconds = (args.get(name) for name in ("subject", "body", "options", "seconds"))
    defaults = args.get("defaults")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
        raise InvalidRequestError(f"the subject of a human step is a text of 1 to {_LONGEST_SUBJECT} characters")
    if not _are_texts(options) or not options or not (defaults is None or _are_texts(defaults)):
        raise InvalidRequestError(f"human step {shown(subject)} needs options to choose from, as texts")
    if not (seconds is None or (isinstance(seconds, int | float) and 0 <= seconds <= _LONGEST)):
        raise InvalidRequestError(f"nobody can be waited for {seconds!r} s")
    form = {
        "options": _as_json(options),
        "defaults": None if defaults is None else _as_json(defaults),
        "params": _as_json(args.get("params") or {}),
        "assignees": _as_json(args.get("assignees") or []),
    }
    _as_json([subject, body])
    if sum(len(text or "") for text in (*form.values(), body)) > _LARGEST:
        raise InvalidRequestError(f"human step {shown(subject)} is larger than {_LARGEST} characters")
    due_at = None if seconds is None else now + timedelta(seconds=seconds)
    return {"subject": subject, "body": body, "multiple": args.get("multiple") is True, "due_at": due_at, **form}


def _as_json(value: Any) -> str:
    """Return ``value`` as JSON that PostgreSQL can store.

    Raises:
        InvalidRequestError: a text in it has a NUL or half of a surrogate pair.
    """
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "\\u0000"
    if "\\u0000" in text:
        raise InvalidRequestError("a human step, or its answer, has a text with a character that cannot be stored")
    return text


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def respond(
    connection: Connection,
    instance: Mapping[str, Any],
    chosen: Sequence[str],
    given: Mapping[str, Any],
    *,
    by: str,
    for_others: bool = False,
    now: datetime,
) -> Mapping[str, Any]:
    """Answer the question of a task instance for the person ``by``; the task goes on. Return the question's row.

    ``for_others`` lets somebody answer who is none of those that are asked.

    Raises:
        NotFoundError: the instance asks nothing.
        ConflictError: it was answered before (says by whom and when), its time is over, or the task has ended.
        ForbiddenError: it is not for this person to answer.
        InvalidRequestError: the options or the values do not fit the question.
    """
    where = {"id": instance["id"], "month": instance["month"]}
    ((state,),) = tuples(connection, _LOCK, where)
    found = rows(connection, _CURRENT, where)
    name = f"task {shown(instance['task_id'])} of run {shown(instance['run_id'])}"
    if not found:
        raise NotFoundError("human step of task instance", f"{instance['run_id']}/{instance['task_id']}")
    step = found[0]
    _check_open(step, state, name, now)
    # The id is the account's name. The name beside it is for people to read: it may be that of somebody else's account.
    assigned = {str(one.get("id") or one.get("name")) for one in step["assignees"]}
    if assigned and by not in assigned and not for_others:
        listed = ", ".join(sorted(assigned))
        raise ForbiddenError(f"{name} asks {listed}, so {shown(by)} cannot answer it")
    values = _fitting(step, list(chosen), given)
    answered = {"chosen": _as_json(list(chosen)), "given": _as_json(values), "by": by, "now": now}
    execute(connection, _ANSWER, {**step, **answered})
    run = suspended.wake(connection, instance["id"], month=instance["month"], now=now)
    if run is not None:
        runs.wake(connection, [(run, now)])
        notify(connection, WAKE, RUNS)
    return {**step, "chosen": list(chosen), "given": values, "answered_by": by, "answered_at": now}


def _check_open(step: Mapping[str, Any], state: str, name: str, now: datetime) -> None:
    if step["answered_at"] is not None:
        by = f"by {step['answered_by']}" if step["answered_by"] else "by its defaults, since nobody did in time"
        chosen = ", ".join(step["chosen"])
        at = step["answered_at"].isoformat()
        raise ConflictError(f"{name} was answered {by} at {at} ({chosen}): nothing was changed")
    if step["due_at"] is not None and step["due_at"] <= now:
        raise ConflictError(f"{name} could be answered until {step['due_at'].isoformat()}: nothing was changed")
    if state in FINISHED:
        raise ConflictError(f"{name} is {state} and needs no answer any more: nothing was changed")


def _fitting(step: Mapping[str, Any], chosen: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the form, its own where none is given, once options and values fit the question."""
    options = step["options"]
    unknown = [one for one in chosen if one not in options]
    if unknown or not chosen or len(set(chosen)) < len(chosen):
        what = f"{shown(unknown[0])} is no option" if unknown else "options must be chosen, each once"
        raise InvalidRequestError(f"{what} of {shown(step['subject'])}; the options are {', '.join(options)}")
    if len(chosen) > 1 and not step["multiple"]:
        raise InvalidRequestError(f"{shown(step['subject'])} takes one option, not {len(chosen)}")
    foreign = sorted(set(given) - set(step["params"]))
    if foreign:
        known = ", ".join(step["params"]) or "none"
        raise InvalidRequestError(f"{shown(step['subject'])} has no param {shown(foreign[0])}; it has {known}")
    values = {name: given.get(name, param["value"]) for name, param in step["params"].items()}
    for name, param in step["params"].items():
        _check_value(name, param, values[name], name in given)
    if len(json.dumps(values)) > _LARGEST:
        raise InvalidRequestError(f"the values are larger than {_LARGEST} characters")
    return values


def _check_value(name: str, param: Mapping[str, Any], value: Any, is_given: bool) -> None:
    if not is_given and not param["has_value"]:
        raise InvalidRequestError(f"param {shown(name)} has no default; give it a value")
    try:
        # jsonschema weighs 8 MB, and few questions have a form.
        importlib.import_module("treadle.param_validation").check(name, param["schema"], value)
    except ParamError as error:
        raise InvalidRequestError(str(error)) from error


def woken_early(
    connection: Connection, reports: Sequence[Mapping[str, Any]], moved: Sequence[Any], *, month: date, now: datetime
) -> Sequence[Any]:
    """Return what ``attempts.finish`` moved; an instance whose question was answered meanwhile goes on at once."""
    asking = {UUID(one["attempt_id"]) for one in reports if _waits_for_answer(one)}
    waiting = [row[1] for row in moved if row[0] in asking]
    if not waiting:
        return moved
    woken = suspended.wake_answered(connection, waiting, month=month, now=now)
    return [(*row[:4], now) if row[1] in woken else row for row in moved]


def _waits_for_answer(report: Mapping[str, Any]) -> bool:
    return report["outcome"] == "suspended" and (report.get("resume") or {}).get("name") == AN_ANSWER
