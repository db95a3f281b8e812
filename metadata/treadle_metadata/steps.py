"""The journal of durable steps on the server's side: opened, read, added to, waited for, and posted to.

Called for the questions of running attempts (``execution.answer_request``), by the routes and commands that people use,
and when an attempt is suspended. Every write names the attempt and is refused once that is over; a step's value is
recorded once, whoever comes second gets what is there (specification, durable runs, step-output).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.journal_opening import open_journals
from treadle_metadata.statements import execute, rows, tuples
from treadle_metadata.transitions import suspended

QUESTIONS: Final = frozenset({"open_journal", "record_step", "read_step", "wait_for_step", "record_step_failure"})

INLINE_BYTES: Final = 1024 * 1024
"""A longer value goes to ``durable_blob``, under its SHA-256 (specification, durable runs, inline-cutoff)."""

_LONGEST_NAME: Final = 250
_LONGEST_MESSAGE: Final = 2000

# The journal of an attempt that runs: nobody else writes to it.
_MINE: Final = """
    SELECT journal.id, journal.task_instance_id, journal.month
    FROM task_instance AS instance
         JOIN durable_journal AS journal ON journal.task_instance_id = instance.id AND journal.month = instance.month
              AND journal.discarded_at IS NULL
    WHERE instance.id = %(task_instance_id)s AND instance.month = %(month)s AND instance.attempt_id = %(attempt_id)s
      AND instance.state = 'running'
"""

_RECORD: Final = f"""
    WITH mine AS ({_MINE}), recorded AS (
        INSERT INTO durable_step (task_instance_id, journal_id, month, name, inputs, kind, value, blob, begun_at,
                                  done_at)
        SELECT mine.task_instance_id, mine.id, mine.month, %(name)s, %(inputs)s, 'step', %(value)s, %(blob)s, %(now)s,
               %(now)s
        FROM mine
        ON CONFLICT (task_instance_id, journal_id, name, inputs, month) DO NOTHING
        RETURNING number
    )
    SELECT (SELECT count(*) FROM mine), (SELECT count(*) FROM recorded)
"""

_BLOB: Final = f"""
    WITH mine AS ({_MINE})
    INSERT INTO durable_blob (task_instance_id, month, hash, content)
    SELECT task_instance_id, month, %(blob)s, %(content)s FROM mine
    ON CONFLICT (task_instance_id, hash, month) DO NOTHING
"""

_ONE: Final = f"""
    WITH mine AS ({_MINE})
    SELECT step.*, coalesce(step.value, blob.content) AS text
    FROM mine JOIN durable_step AS step ON step.task_instance_id = mine.task_instance_id AND step.month = mine.month
                   AND step.journal_id = mine.id AND step.name = %(name)s AND step.inputs = %(inputs)s
         LEFT JOIN durable_blob AS blob ON blob.task_instance_id = step.task_instance_id AND blob.month = step.month
                   AND blob.hash = step.blob
"""

_FAILED: Final = f"""
    WITH mine AS ({_MINE})
    INSERT INTO durable_failure (task_instance_id, journal_id, month, name, inputs, attempt_id, try, error_type,
                                 message, wait_seconds, failed_at)
    SELECT mine.task_instance_id, mine.id, mine.month, %(name)s, %(inputs)s, %(attempt_id)s, %(try)s, %(error_type)s,
           %(message)s, %(wait)s, %(now)s
    FROM mine
"""

_WAIT: Final = f"""
    WITH mine AS ({_MINE})
    INSERT INTO durable_step (task_instance_id, journal_id, month, name, inputs, kind, token_hash, token, due_at,
                              begun_at)
    SELECT mine.task_instance_id, mine.id, mine.month, %(name)s, %(inputs)s, %(kind)s, %(token_hash)s, %(token)s,
           %(due_at)s, %(now)s
    FROM mine
    ON CONFLICT (task_instance_id, journal_id, name, inputs, month) DO NOTHING
"""

# Without a value: a sleep is over, an awakeable has timed out, and stays so.
_OVER: Final = """
    UPDATE durable_step SET done_at = %(now)s
    WHERE task_instance_id = %(task_instance_id)s AND month = %(month)s AND journal_id = %(journal_id)s
      AND name = %(name)s AND inputs = %(inputs)s AND done_at IS NULL AND due_at <= %(now)s
"""


def answer(connection: Connection, request: Mapping[str, Any], *, crypto: Crypto, now: datetime) -> Any:
    """Answer a question of a running attempt about its durable steps (``treadle_worker.protocol.Request``).

    Raises:
        InvalidRequestError: the attempt is over, or the question is malformed.
    """
    args = request["args"]
    of = {name: request[name] for name in ("attempt_id", "task_instance_id", "month")} | {"now": now}
    if request["op"] == "open_journal":
        return open_all(connection, [request], crypto=crypto, now=now)[0]
    of |= {"name": _text(args, "name"), "inputs": _text(args, "inputs")}
    if request["op"] == "record_step":
        return _record(connection, of, args["value"])
    if request["op"] == "read_step":
        return _read(connection, of)
    if request["op"] == "record_step_failure":
        return _failed(connection, of, args)
    return _wait(connection, of, args, crypto)


def open_all(
    connection: Connection, requests: Sequence[Mapping[str, Any]], *, crypto: Crypto, now: datetime
) -> list[dict[str, Any]]:
    """Answer several questions ``open_journal`` in a few statements.

    Raises:
        InvalidRequestError: one of the attempts is over, or one question is malformed; the others get no answer either.
    """
    for one in requests:
        _text(one["args"], "plan")
    answers = []
    for one, found in zip(requests, open_journals(connection, requests, crypto=crypto, now=now), strict=True):
        if found is None:
            raise _over(one)
        answers.append(found)
    return answers


def _record(connection: Connection, of: Mapping[str, Any], value: Any) -> str | None:
    if not isinstance(value, str):
        raise InvalidRequestError(f"the value of step {of['name']!r} is no text")
    step = {**of, "value": value, "blob": None}
    if len(value) > INLINE_BYTES // 4 and len(content := value.encode()) > INLINE_BYTES:
        step |= {"value": None, "blob": hashlib.sha256(content).hexdigest(), "content": value}
        execute(connection, _BLOB, step)
    mine, recorded = tuples(connection, _RECORD, step)[0]
    if not mine:
        raise _over(of)
    return None if recorded else _read(connection, of)


def _read(connection: Connection, of: Mapping[str, Any]) -> str:
    found = rows(connection, _ONE, of)
    if not found or found[0]["text"] is None:
        raise _over(of)
    text: str = found[0]["text"]
    return text


def _failed(connection: Connection, of: Mapping[str, Any], args: Mapping[str, Any]) -> None:
    tried, wait = args.get("try"), args.get("wait")
    if not isinstance(tried, int) or not 0 < tried < 2**31 or not isinstance(wait, int | float | None):
        raise InvalidRequestError(f"a failure of step {of['name']!r} is of try {tried!r}, with a wait of {wait!r} s")
    failure = {
        "try": tried,
        "wait": None if wait is None else float(wait),
        "error_type": _text(args, "error_type"),
        "message": str(args.get("message")).replace("\0", "\\0").encode(errors="replace").decode()[:_LONGEST_MESSAGE],
    }
    if not execute(connection, _FAILED, {**of, **failure}):
        raise _over(of)


def _wait(connection: Connection, of: Mapping[str, Any], args: Mapping[str, Any], crypto: Crypto) -> dict[str, Any]:
    kind, seconds = args.get("kind"), args.get("seconds")
    if kind not in ("sleep", "awakeable") or not isinstance(seconds, int | float) or not 0 <= seconds < 4e9:
        raise InvalidRequestError(f"step {of['name']!r} cannot wait: {kind!r} of {seconds!r} s")
    token = secrets.token_urlsafe(32) if kind == "awakeable" else None
    begun = {
        "kind": kind,
        "due_at": of["now"] + timedelta(seconds=seconds),
        "token": token and crypto.encrypt(token),
        "token_hash": token and hash_of(token),
    }
    execute(connection, _WAIT, {**of, **begun})
    found = rows(connection, _ONE, of)
    if not found:
        raise _over(of)
    one = found[0]
    if one["kind"] != kind:
        raise InvalidRequestError(f"step {of['name']!r} is a {one['kind']} and a {kind}: give one of them another name")
    if execute(connection, _OVER, {**of, "journal_id": one["journal_id"]}) or one["done_at"] is not None:
        done = kind == "sleep" or one["value"] is not None
        state = "done" if done else "timed_out"
    else:
        state = "waiting"
    return {
        "state": state,
        "due_at": one["due_at"].isoformat(),
        "value": one["value"],
        "token": one["token"] and crypto.decrypt(one["token"], f"the token of awakeable {of['name']!r}"),
    }


def hash_of(token: str) -> str:
    """Return under what a token is kept: whoever reads the database cannot post it."""
    return hashlib.sha256(token.encode()).hexdigest()


def woken_early(
    connection: Connection, reports: Sequence[Mapping[str, Any]], moved: Sequence[Any], *, month: date, now: datetime
) -> Sequence[Any]:
    """Return what ``attempts.finish`` moved; a suspended instance whose token was posted meanwhile goes on at once.

    The post and the finish lock the instance first, so one of them sees what the other did.
    """
    waiting = [one for one in reports if one["outcome"] == "suspended" and one.get("resume")]
    if not waiting:
        return moved
    kept = {row[0] for row in moved}
    woken = suspended.wake_posted(
        connection, [one for one in waiting if UUID(one["attempt_id"]) in kept], month=month, now=now
    )
    return [(*row[:4], now) if row[1] in woken else row for row in moved]


def _over(of: Mapping[str, Any]) -> InvalidRequestError:
    return InvalidRequestError(
        f"attempt {of['attempt_id']} is over, or its journal was discarded; it can record no step any more"
    )


def _text(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or "\0" in value:
        raise InvalidRequestError(f"{name} of a durable step must be a text of 1 to {_LONGEST_NAME} characters")
    return value
