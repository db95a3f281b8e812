"""Opens the journals of attempts that begin with one, as many as asked at once, each with what goes along with it.

Called by ``steps`` for questions of running attempts, one or all that have gathered, and for transactional tasks as
their start is recorded. One statement makes the journals
that are new; only those that were there before are read. A transactional task asks for its connection along with its
journal, so that both are one round trip. The caller's transaction is all or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from typing import Any, Final, LiteralString
from uuid import UUID, uuid4

from sqlalchemy import Connection

from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import MetadataError
from treadle_metadata.resources import find_connection
from treadle_metadata.statements import execute, rows

SENT_BYTES: Final = 16 * 1024
"""A longer value is not sent when a journal is opened, but when its step is met."""

Answer = dict[str, Any] | None
"""What an attempt learns; None: it is over, or its journal was discarded."""

# A journal that is new has no step yet, and is nobody else's: what was inserted says all of it.
_OPEN: Final = """
    WITH mine AS MATERIALIZED (
        SELECT asked.number, asked.journal_id, asked.plan, asked.attempt_id, instance.id, instance.dag_id
        FROM unnest(%(numbers)s::int[], %(journals)s::uuid[], %(plans)s::text[], %(ids)s::bigint[],
                    %(attempts)s::uuid[]) AS asked (number, journal_id, plan, id, attempt_id)
             JOIN task_instance AS instance ON instance.id = asked.id AND instance.month = %(month)s
                  AND instance.attempt_id = asked.attempt_id AND instance.state = 'running'
    ), made AS (
        INSERT INTO durable_journal (id, month, task_instance_id, plan, opened_at)
        SELECT journal_id, %(month)s, id, plan, %(now)s FROM mine ORDER BY id
        ON CONFLICT (task_instance_id, month) WHERE discarded_at IS NULL DO NOTHING
        RETURNING id
    )
    SELECT mine.number, made.id AS journal_id, coalesce(dag.team, '') AS team, current_schema() AS schema,
           (SELECT encode(sha256(convert_to(secret || mine.attempt_id::text || secret, 'UTF8')), 'hex')
            FROM commit_secret) AS proof
    FROM mine JOIN dag ON dag.dag_id = mine.dag_id LEFT JOIN made ON made.id = mine.journal_id
"""

_PINNED: Final = """
    SELECT journal.id, journal.plan, EXISTS (
        SELECT FROM durable_step AS step WHERE step.task_instance_id = journal.task_instance_id
            AND step.journal_id = journal.id AND step.month = journal.month) AS has_steps
    FROM durable_journal AS journal
    WHERE journal.task_instance_id = %(task_instance_id)s AND journal.month = %(month)s
      AND journal.discarded_at IS NULL
    FOR UPDATE
"""

_STEPS: Final = """
    SELECT name, inputs, CASE WHEN octet_length(value) <= %(most)s THEN value END AS value FROM durable_step
    WHERE task_instance_id = %(task_instance_id)s AND month = %(month)s AND journal_id = %(journal_id)s
      AND kind = 'step'
    ORDER BY number
"""


def open_journals(
    connection: Connection, requests: Sequence[Mapping[str, Any]], *, crypto: Crypto, now: datetime
) -> list[Answer]:
    """Answer the questions ``open_journal`` ({"plan", "conn_id": may be missing}), in their order."""
    answers: list[Answer] = [None] * len(requests)
    found: dict[tuple[str, str], dict[str, Any] | None] = {}
    for one in _made(connection, requests, now):
        request = requests[one["number"]]
        answer = _opened(connection, request, one)
        conn_id = request["args"].get("conn_id")
        if answer is not None and isinstance(conn_id, str):
            key = (conn_id, one["team"])
            if key not in found:
                found[key] = find_connection(connection, conn_id, crypto=crypto, team=one["team"])
            answer["connection"] = found[key]
        answers[one["number"]] = answer
    return answers


def open_with_starts(
    connection: Connection, starts: Sequence[Mapping[str, Any]], *, crypto: Crypto, now: datetime
) -> dict[str, dict[str, Any]]:
    """Open journals for attempts that were just recorded as started and name a ``transaction``; return those made.

    By the attempts' ids. An attempt whose instance had a journal before asks for it, since of which code that is only
    its process can tell; so does one whose connection cannot be read, and is told why. Of a new journal its code is
    asked when there is a step to record (``treadle.durable.journal``).
    """
    asked = [{**one, "args": {"plan": ""}} for one in starts]
    made: dict[str, dict[str, Any]] = {}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in _made(connection, asked, now):
        start = starts[one["number"]]
        if one["journal_id"] is None:
            continue
        key = (start["transaction"], one["team"])
        if key not in found:
            found[key] = {"conn_id": key[0]}
            with suppress(MetadataError):
                found[key]["connection"] = find_connection(connection, key[0], crypto=crypto, team=key[1])
        facts = {"steps": [], "is_new": True, **found[key]}
        made[start["attempt_id"]] = _identity(start, one, one["journal_id"]) | facts
    return made


def _identity(asked: Mapping[str, Any], row: Mapping[str, Any], journal_id: UUID) -> dict[str, Any]:
    # With this, a transaction of the attempt can carry its end (treadle_commit), where the task's role may call that.
    attempt = [str(asked["attempt_id"]), asked["task_instance_id"], str(asked["month"]), row["proof"]]
    return {"id": str(journal_id), "commit": {"schema": row["schema"], "attempt": attempt}}


def _made(connection: Connection, requests: Sequence[Mapping[str, Any]], now: datetime) -> list[Mapping[str, Any]]:
    """Make the journals that are not there; return a row for each attempt that runs."""
    made: list[Mapping[str, Any]] = []
    numbered = sorted(enumerate(requests), key=lambda one: str(one[1]["month"]))
    for month, batch in groupby(numbered, key=lambda one: str(one[1]["month"])):
        listed = list(batch)
        columns = {
            "numbers": [number for number, _ in listed],
            "journals": [uuid4() for _ in listed],
            "plans": [one["args"]["plan"] for _, one in listed],
            "ids": [one["task_instance_id"] for _, one in listed],
            "attempts": [UUID(str(one["attempt_id"])) for _, one in listed],
        }
        made += rows(connection, _OPEN, columns | {"month": month, "now": now})
    return made


def _opened(connection: Connection, request: Mapping[str, Any], row: Mapping[str, Any]) -> Answer:
    plan = request["args"]["plan"]
    answer: Answer = {"id": row["journal_id"], "plan": plan, "steps": [], "is_new": True}
    if row["journal_id"] is None:
        answer = _found(connection, request, plan)
    if answer is None:
        return None
    return {**answer, **_identity(request, row, answer["id"])}


def _found(connection: Connection, request: Mapping[str, Any], plan: str) -> Answer:
    """Return a journal that was there, and note of which code it is: it is pinned by its first step."""
    of = {name: request[name] for name in ("task_instance_id", "month")}
    pinned = rows(connection, _PINNED, of)
    if not pinned:
        return None
    journal = pinned[0]
    named = {**of, "journal_id": journal["id"], "plan": plan, "most": SENT_BYTES}
    answer = {"id": journal["id"], "plan": journal["plan"] if journal["has_steps"] else plan, "steps": []}
    if answer["plan"] != journal["plan"]:
        _note(connection, "UPDATE durable_journal SET plan = %(plan)s", named)
    if answer["plan"] != plan:
        _note(connection, "UPDATE durable_journal SET refused_plan = %(plan)s", named)
    elif journal["has_steps"]:
        answer["steps"] = [dict(one) for one in rows(connection, _STEPS, named)]
    return answer


def _note(connection: Connection, change: LiteralString, named: Mapping[str, Any]) -> None:
    where: LiteralString = " WHERE task_instance_id = %(task_instance_id)s AND month = %(month)s AND id = "
    execute(connection, change + where + "%(journal_id)s", named)
