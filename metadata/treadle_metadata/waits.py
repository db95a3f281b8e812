"""The server's side of sensors: how long one has waited, and what it may know of other DAGs.

Called for the questions of running attempts (``execution.answer_request``). A wait is one row for each instance, made
at the first poke in vain and kept through reschedules, retries and lost workers; a clear deletes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle.document import DagDocument, loads
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.statements import execute, rows, tuples

QUESTIONS: Final = frozenset({"note_wait", "get_states"})

MODES: Final = frozenset({"poke", "reschedule", "deferrable"})

MOST_DATES: Final = 1000
"""Runs that one question may be about."""

_LONGEST: Final = 4e9
"""Seconds; more than a calendar of PostgreSQL's makes no sense of."""

# The wait began with the first attempt since the task was made or cleared, though that may have ended without a poke.
_NOTE: Final = """
    WITH mine AS (
        SELECT id, month, attempt_id, started_at FROM task_instance
        WHERE id = %(task_instance_id)s AND month = %(month)s AND attempt_id = %(attempt_id)s AND state = 'running'
    ), begun AS (
        SELECT mine.*, coalesce(
            (SELECT min(started_at) FROM task_attempt AS attempt
             WHERE attempt.task_instance_id = mine.id AND attempt.month = mine.month
               AND attempt.try_number >= %(first_try)s), mine.started_at) AS began_at
        FROM mine
    )
    INSERT INTO sensor_wait (task_instance_id, month, attempt_id, mode, began_at, gives_up_at, pokes)
    SELECT id, month, attempt_id, %(mode)s, began_at, began_at + make_interval(secs => %(timeout)s), 1 FROM begun
    ON CONFLICT (task_instance_id, month) DO UPDATE
    SET attempt_id = excluded.attempt_id, mode = excluded.mode, pokes = sensor_wait.pokes + 1,
        gives_up_at = sensor_wait.began_at + make_interval(secs => %(timeout)s)
    RETURNING began_at, pokes
"""

_FORGET_POKES: Final = """
    DELETE FROM task_attempt AS attempt
    USING unnest(%(ids)s::bigint[], %(attempts)s::uuid[]) AS poked (id, attempt_id)
          JOIN task_attempt AS newest ON newest.attempt_id = poked.attempt_id AND newest.month = %(month)s
               AND newest.outcome = 'suspended'
    WHERE attempt.task_instance_id = poked.id AND attempt.month = %(month)s
      AND attempt.try_number = newest.try_number AND attempt.outcome = 'suspended'
      AND attempt.attempt_id <> newest.attempt_id
"""

_TEAM: Final = """
    SELECT coalesce(dag.team, '') FROM task_instance AS instance JOIN dag ON dag.dag_id = instance.dag_id
    WHERE instance.id = %(task_instance_id)s AND instance.month = %(month)s
      AND instance.attempt_id = %(attempt_id)s AND instance.state = 'running'
"""

# What belongs to another team does not exist for a task, as it does not for a person (case F11).
_SEEN: Final[LiteralString] = "(%(team)s::text IS NULL OR coalesce(dag.team, '') IN ('', %(team)s))"

_RUNS: Final = f"""
    SELECT id, month, run_id, state, logical_date FROM dag_run
    WHERE dag_id = %(dag_id)s AND logical_date = ANY(%(dates)s::timestamptz[])
      AND EXISTS (SELECT FROM dag WHERE dag.dag_id = dag_run.dag_id AND {_SEEN})
    ORDER BY logical_date
"""

_TASKS: Final = """
    SELECT instance.dag_run_id, instance.task_id, instance.state, count(*)
    FROM unnest(%(runs)s::bigint[], %(months)s::date[]) AS run (id, month)
         JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month
              AND instance.task_id = ANY(%(tasks)s)
    GROUP BY 1, 2, 3
"""

_NEWEST: Final = f"""
    SELECT version.document FROM dag JOIN dag_version AS version ON version.id = dag.version_id
    WHERE dag.dag_id = %(dag_id)s AND dag.is_active AND {_SEEN}
"""


def forget_pokes(connection: Connection, reports: Sequence[Mapping[str, Any]], *, month: date) -> None:
    """Forget the attempts of earlier pokes of tries that are rescheduled again; how many there were is in their wait.

    A sensor that looks each minute for a week is ten thousand attempts, of which the newest is worth keeping. Durable
    steps, which say what they wait for, are left alone.
    """
    again = [one for one in reports if one["outcome"] == "suspended" and not (one.get("resume") or {}).get("name")]
    if again:
        ids = [one["task_instance_id"] for one in again]
        parameters = {"ids": ids, "attempts": [one["attempt_id"] for one in again], "month": month}
        execute(connection, _FORGET_POKES, parameters)


def answer(connection: Connection, request: Mapping[str, Any], *, crypto: Crypto, now: datetime) -> Any:  # noqa: ARG001
    """Answer a question of a running sensor (``treadle_worker.protocol.Request``).

    Raises:
        InvalidRequestError: the attempt is over, or the question is malformed.
    """
    args = request["args"]
    of = {name: request[name] for name in ("attempt_id", "task_instance_id", "month")}
    if request["op"] == "note_wait":
        return _note(connection, of, args, now)
    asker = tuples(connection, _TEAM, of)
    if not asker:
        raise _over(of)
    return states_of(connection, args, team=asker[0][0])


def _note(connection: Connection, of: Mapping[str, Any], args: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    mode, timeout, first_try = args.get("mode"), args.get("timeout"), args.get("first_try")
    if mode not in MODES or not isinstance(timeout, int | float) or not isinstance(first_try, int):
        raise InvalidRequestError(f"a sensor cannot wait with mode {mode!r}, timeout {timeout!r}, try {first_try!r}")
    wait = {"mode": mode, "timeout": min(max(0.0, float(timeout)), _LONGEST), "first_try": first_try}
    found = tuples(connection, _NOTE, {**of, **wait})
    if not found:
        raise _over(of)
    ((began_at, pokes),) = found
    return {"waited": max(0.0, (now - began_at).total_seconds()), "pokes": pokes, "at": now.isoformat()}


def _over(of: Mapping[str, Any]) -> InvalidRequestError:
    return InvalidRequestError(f"attempt {of['attempt_id']} is over; it waits for nothing any more")


def states_of(connection: Connection, args: Mapping[str, Any], *, team: str | None = None) -> dict[str, Any]:
    """Return the states of a DAG's runs of certain logical dates, and of some of its tasks in them.

    The question and the answer are those of ``treadle.runtime.supervisor.Supervisor.get_states``. Reads two indexes
    by equality, whatever the DAG's history. ``team`` is the asker's: its DAGs are seen, and those of no team; None sees
    all.

    Raises:
        InvalidRequestError: the question is malformed.
    """
    dag_id, dates, tasks, group = (args.get(name) for name in ("dag_id", "logical_dates", "task_ids", "group_id"))
    if not isinstance(dag_id, str) or not _are_texts(dates) or not (tasks is None or _are_texts(tasks)):
        raise InvalidRequestError("get_states asks for a dag_id, logical_dates and task_ids")
    seen = {"dag_id": dag_id, "team": team}
    document = _document(connection, seen) if group is not None or args.get("check") else None
    wanted = list(tasks or ()) + (_tasks_of_group(document, group) if document is not None and group else [])
    found = rows(connection, _RUNS, {**seen, "dates": _moments(dates or [])})
    counts: dict[int, dict[str, dict[str, int]]] = {}
    if found and wanted:
        parameters = {"runs": [one["id"] for one in found], "months": [one["month"] for one in found], "tasks": wanted}
        for run, task_id, state, count in tuples(connection, _TASKS, parameters):
            counts.setdefault(run, {}).setdefault(task_id, {})[state] = count
    runs = [
        {
            "logical_date": one["logical_date"].isoformat(),
            "run_id": one["run_id"],
            "state": one["state"],
            "tasks": {task_id: counts.get(one["id"], {}).get(task_id, {}) for task_id in wanted},
        }
        for one in found
    ]
    return {"runs": runs, "missing": _missing(document, dag_id, tasks or (), group) if args.get("check") else []}


def _document(connection: Connection, seen: Mapping[str, Any]) -> DagDocument | None:
    found = tuples(connection, _NEWEST, seen)
    return loads(found[0][0]) if found else None


def _tasks_of_group(document: DagDocument, group_id: str) -> list[str]:
    """Return the tasks of a group and of the groups within it."""
    inner, before = {group_id}, 0
    while len(inner) > before:
        before = len(inner)
        inner |= {one.group_id for one in document.groups if one.parent in inner}
    return [task.task_id for task in document.tasks if task.group_id in inner]


def _missing(document: DagDocument | None, dag_id: str, tasks: Sequence[str], group: str | None) -> list[str]:
    if document is None:
        return [f"DAG {dag_id!r}"]
    known = {task.task_id for task in document.tasks}
    missing = [f"task {one!r} of DAG {dag_id!r}" for one in tasks if one not in known]
    if group is not None and group not in {one.group_id for one in document.groups}:
        missing.append(f"task group {group!r} of DAG {dag_id!r}")
    return missing


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_DATES and all(isinstance(one, str) for one in value)


def _moments(texts: Iterable[str]) -> list[datetime]:
    return [_moment(text) for text in texts]


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidRequestError(f"{text!r:.100} is no logical date") from error
    if moment.tzinfo is None:
        raise InvalidRequestError(f"{text!r:.100} is no logical date: it has no time zone")
    return moment
