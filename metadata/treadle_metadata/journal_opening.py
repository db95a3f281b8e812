"""Opens the journals of attempts that begin with one, as many as asked at once, each with what goes along with it.

Called by ``steps`` for questions of running attempts, one or all that have gathered, and by ``execution`` for
transactional tasks as their start is recorded. One statement makes the journals that are new; only those that were
there before are read. The connection of a transactional task comes along with its journal, so that both are one round
trip. The caller's transaction is all or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final, LiteralString
from uuid import UUID, uuid4

from sqlalchemy import Connection

from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import MetadataError
from treadle_metadata.lane import Statement
from treadle_metadata.resources.connections import of_row
from treadle_metadata.statements import execute, rows, tuples

SENT_BYTES: Final = 16 * 1024
"""A longer value is not sent when a journal is opened, but when its step is met."""

Answer = dict[str, Any] | None
"""What an attempt learns; None: it is over, or its journal was discarded."""

# A journal that is new has no step yet, and is nobody else's: what was inserted says all of it.
_OPEN: Final = """
    WITH mine AS MATERIALIZED (
        SELECT asked.number, asked.journal_id, asked.plan, asked.attempt_id, asked.conn_id, instance.id, instance.dag_id
        FROM unnest(%(numbers)s::int[], %(journals)s::uuid[], %(plans)s::text[], %(ids)s::bigint[],
                    %(attempts)s::uuid[], %(conn_ids)s::text[])
             AS asked (number, journal_id, plan, id, attempt_id, conn_id)
             JOIN task_instance AS instance ON instance.id = asked.id AND instance.month = %(month)s
                  AND instance.attempt_id = asked.attempt_id AND instance.state = 'running'
    ), made AS (
        INSERT INTO durable_journal (id, month, task_instance_id, plan, opened_at)
        SELECT journal_id, %(month)s, id, plan, %(now)s FROM mine ORDER BY id
        ON CONFLICT (task_instance_id, month) WHERE discarded_at IS NULL DO NOTHING
        RETURNING id
    )
    SELECT mine.number, made.id, current_schema(),
           (SELECT encode(sha256(convert_to(secret || mine.attempt_id::text || secret, 'UTF8')), 'hex')
            FROM commit_secret),
           named.conn_id, named.conn_type, named.description, named.host, named.schema, named.login, named.password,
           named.port, named.extra
    FROM mine JOIN dag ON dag.dag_id = mine.dag_id LEFT JOIN made ON made.id = mine.journal_id
         LEFT JOIN LATERAL (
             SELECT * FROM connection WHERE conn_id = mine.conn_id AND team IN ('', coalesce(dag.team, ''))
             ORDER BY team DESC LIMIT 1
         ) AS named ON true
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


@dataclass(frozen=True, slots=True)
class _Row:
    """An attempt that runs; ``journal_id`` is None where its instance had a journal before."""

    number: int
    journal_id: UUID | None
    own_schema: str
    proof: str
    connection: tuple[Any, ...]
    """The id and the fields of the connection that it asked for, all None if there is none."""

    def identity(self, asked: Mapping[str, Any], journal_id: UUID) -> dict[str, Any]:
        """Return what names the journal, and what lets a transaction carry the end of the attempt (treadle_commit)."""
        attempt = [str(asked["attempt_id"]), asked["task_instance_id"], str(asked["month"]), self.proof]
        return {"id": str(journal_id), "commit": {"schema": self.own_schema, "attempt": attempt}}

    def named(self, crypto: Crypto) -> dict[str, Any] | None:
        """Return the connection as the task sees it, or None."""
        return None if self.connection[0] is None else of_row(self.connection, crypto)


def open_journals(
    connection: Connection, requests: Sequence[Mapping[str, Any]], *, crypto: Crypto, now: datetime
) -> list[Answer]:
    """Answer the questions ``open_journal`` ({"plan", "conn_id": may be missing}), in their order."""
    answers: list[Answer] = [None] * len(requests)
    numbered = sorted(enumerate(requests), key=lambda one: str(one[1]["month"]))
    for month, batch in groupby(numbered, key=lambda one: str(one[1]["month"])):
        asked = [(number, one, one["args"]["plan"], _text_or_none(one["args"].get("conn_id"))) for number, one in batch]
        for row in map(_row, tuples(connection, *_statement(asked, month, now))):
            request = requests[row.number]
            answer = _opened(connection, request, row)
            if answer is not None and _text_or_none(request["args"].get("conn_id")) is not None:
                answer["connection"] = row.named(crypto)
            answers[row.number] = answer
    return answers


def opening_with(starts: Sequence[Mapping[str, Any]], *, month: date, now: datetime) -> Statement:
    """Return the statement that opens journals for starts of one month that name a ``transaction``.

    It is to be run after the one that records them, in its transaction; ``opened_with`` reads what it returns. Of which
    code a journal is only the attempt's process can tell: it is asked when there is a step to record
    (``treadle.durable.journal``).
    """
    return _statement([(number, one, "", one["transaction"]) for number, one in enumerate(starts)], month, now)


def opened_with(
    starts: Sequence[Mapping[str, Any]], found: Sequence[Any], *, crypto: Crypto
) -> dict[str, dict[str, Any]]:
    """Return the journals that were made, by the attempts' ids.

    An attempt whose instance had a journal before asks for it; so does one for a connection that cannot be read, and
    is told why.
    """
    made: dict[str, dict[str, Any]] = {}
    for row in map(_row, found):
        if row.journal_id is None:
            continue
        start = starts[row.number]
        journal = row.identity(start, row.journal_id) | {"steps": [], "is_new": True, "conn_id": start["transaction"]}
        with suppress(MetadataError):
            journal["connection"] = row.named(crypto)
        made[start["attempt_id"]] = journal
    return made


def _row(values: Sequence[Any]) -> _Row:
    return _Row(values[0], values[1], values[2], values[3], tuple(values[4:]))


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _statement(
    asked: Sequence[tuple[int, Mapping[str, Any], str, str | None]], month: str | date, now: datetime
) -> Statement:
    """Return the statement that makes the journals that are not there, and finds each attempt that runs."""
    columns = {
        "numbers": [number for number, _, _, _ in asked],
        "journals": [uuid4() for _ in asked],
        "plans": [plan for _, _, plan, _ in asked],
        "ids": [one["task_instance_id"] for _, one, _, _ in asked],
        "attempts": [UUID(str(one["attempt_id"])) for _, one, _, _ in asked],
        "conn_ids": [conn_id for _, _, _, conn_id in asked],
    }
    return _OPEN, columns | {"month": month, "now": now}


def _opened(connection: Connection, request: Mapping[str, Any], row: _Row) -> Answer:
    plan = request["args"]["plan"]
    if row.journal_id is not None:
        return row.identity(request, row.journal_id) | {"plan": plan, "steps": [], "is_new": True}
    found = _found(connection, request, plan)
    return None if found is None else {**found, **row.identity(request, found["id"])}


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
