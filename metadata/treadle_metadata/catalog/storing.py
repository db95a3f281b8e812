"""Writes a batch of parsed files, set by set: the number of statements does not depend on the number of files.

The DAG processor opens the transaction. Several processors may store at once; an advisory lock puts them in a row.
After a crash the same files are parsed and stored again, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle.document import DagDocument, loads
from treadle.timetables.base import DagRunInfo, DataInterval
from treadle_metadata import dag_warnings
from treadle_metadata.assets.references import store_references
from treadle_metadata.assets.watchers import store_watchers
from treadle_metadata.catalog import writes
from treadle_metadata.catalog.decisions import Accepted, Decisions, Owners, Stored, decide, needs_document
from treadle_metadata.catalog.parsed import UNSTABLE, FileError, FileState, ParsedFile
from treadle_metadata.connection import WAKE, notify
from treadle_metadata.rights.teams import TEAM_OF_FILE
from treadle_metadata.statements import execute, rows, tuples

CATALOG_LOCK: Final = 0x74726561646C6511
"""Key of the advisory lock that processors hold while they store."""

Plan = Callable[[DagDocument, DataInterval | None], DagRunInfo | None]
"""Works out the run that follows an interval; the document given has no tasks."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """What the database knows of files when a processor starts."""

    files: Mapping[str, FileState]
    failing: frozenset[str]
    digests: Mapping[str, Mapping[str, str]]
    """By file, the digest of each of its active DAGs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a batch changed."""

    errors: Mapping[str, Sequence[FileError]]
    digests: Mapping[str, Mapping[str, str]]
    new_versions: int
    deactivated: frozenset[str]


def load_catalog(connection: Connection) -> Catalog:
    """Return the known files, those with an error, and the digests of their DAGs."""
    files = {
        row["file"]: FileState(row["mtime_ns"], row["size"], row["hash"], row["inputs"])
        for row in rows(connection, "SELECT file, mtime_ns, size, hash, inputs FROM dag_file")
    }
    digests: dict[str, dict[str, str]] = {}
    for dag_id, file, digest in tuples(
        connection,
        """
        SELECT dag.dag_id, dag.file, version.hash
        FROM dag JOIN dag_version AS version ON version.id = dag.version_id
        WHERE dag.is_active
        """,
    ):
        digests.setdefault(file, {})[dag_id] = digest
    failing = frozenset(row[0] for row in tuples(connection, "SELECT file FROM import_error"))
    return Catalog(files, failing, digests)


def store_parsed(
    connection: Connection,
    files: Sequence[ParsedFile],
    *,
    now: datetime,
    plan: Plan,
    paused_by_default: bool,
    executors: Collection[str] = (),
    gone: Collection[str] = (),
    touched: Mapping[str, FileState] | None = None,
) -> Outcome:
    """Store what parsing gave. A DAG that names none of ``executors`` (those of this installation) gets a warning.

    ``gone`` are files that are no more: their DAGs become inactive and keep their history. ``touched`` are files with
    a new time but the same content. Wakes the schedulers once if a run may have become due.
    """
    execute(connection, "SELECT pg_advisory_xact_lock(%(key)s)", {"key": CATALOG_LOCK})
    deactivated = writes.forget_files(connection, gone) if gone else []
    store_watchers(connection, {}, {}, gone=deactivated, now=now)
    if touched:
        writes.store_touched(connection, touched)
    if not files:
        return _done(connection, {}, [], deactivated, woken=bool(deactivated))
    stored = _stored(connection, files)
    owners = Owners(_pools(connection), _teams(connection, files))
    decisions = decide(files, stored, owners.pools, owners, executors)
    accepted, errors = _planned(decisions, plan)
    versions = writes.store_versions(connection, [one for one, _ in accepted], now=now)
    writes.store_dags(connection, accepted, versions, now=now, paused_by_default=paused_by_default)
    anew = {one.dag.dag_id: one.dag.document for one, _ in accepted if one.plans_anew}
    store_references(connection, anew, now=now)
    writes.mark_failing(connection, files, errors)
    left_out = writes.deactivate(connection, files, [one for one, _ in accepted], errors)
    store_watchers(connection, anew, versions, gone=left_out, now=now)
    deactivated += left_out
    writes.store_errors(connection, files, errors, now=now)
    _store_warnings(connection, decisions, now)
    writes.store_files(connection, files, now=now)
    woken = bool(deactivated) or any(one.plans_anew for one, _ in accepted)
    return _done(connection, errors, [one for one, _ in accepted], deactivated, woken=woken)


def _done(
    connection: Connection,
    errors: Mapping[str, Sequence[FileError]],
    accepted: Iterable[Accepted],
    deactivated: Iterable[str],
    *,
    woken: bool,
) -> Outcome:
    if woken:
        notify(connection, WAKE)
    digests: dict[str, dict[str, str]] = {}
    new = 0
    for one in accepted:
        digest = one.dag.digest if one.verdict.is_new or one.stored is None else one.stored.digest
        digests.setdefault(one.file.file, {})[one.dag.dag_id] = digest or ""
        new += one.verdict.is_new
    failing = {file: found for file, found in errors.items() if found}
    return Outcome(failing, digests, new, frozenset(deactivated))


def _pools(connection: Connection) -> dict[str, str]:
    return {row[0]: row[1] for row in tuples(connection, "SELECT name, team FROM slot_pool")}


def _teams(connection: Connection, files: Sequence[ParsedFile]) -> dict[str, str | None]:
    team = TEAM_OF_FILE.replace("{file}", "given.file")
    sql = f"SELECT given.file, {team} FROM unnest(%(files)s::text[]) AS given (file)"
    return {row[0]: row[1] for row in tuples(connection, sql, {"files": [one.file for one in files]})}


def _stored(connection: Connection, files: Sequence[ParsedFile]) -> dict[str, Stored]:
    """Lock and return the DAGs of these ids; documents only where the digest differs."""
    parsed = {dag.dag_id: dag for file in files for dag in file.dags}
    found = rows(
        connection,
        """
        SELECT dag.dag_id, dag.file, dag.team, dag.is_active, dag.version_id, version.hash AS digest, version.file_hash,
               dag.last_interval_start, dag.last_interval_end, dag.next_run_at, dag_file.inputs
        FROM dag
        LEFT JOIN dag_version AS version ON version.id = dag.version_id
        LEFT JOIN dag_file ON dag_file.file = dag.file
        WHERE dag.dag_id = ANY(%(ids)s)
        ORDER BY dag.dag_id
        FOR UPDATE OF dag
        """,
        {"ids": sorted(parsed)},
    )
    stored = {row["dag_id"]: _as_stored(row) for row in found}
    changed = [one.version_id for one in stored.values() if needs_document(parsed[one.dag_id], one)]
    if changed:
        for dag_id, document in tuples(
            connection, "SELECT dag_id, document FROM dag_version WHERE id = ANY(%(ids)s)", {"ids": changed}
        ):
            stored[dag_id] = replace(stored[dag_id], document=document)
    return stored


def _as_stored(row: Mapping[str, Any]) -> Stored:
    start = row["last_interval_start"]
    return Stored(
        dag_id=row["dag_id"],
        file=row["file"],
        is_active=row["is_active"],
        version_id=row["version_id"],
        digest=row["digest"],
        file_hash=row["file_hash"],
        last=None if start is None else DataInterval(start, row["last_interval_end"]),
        next_run_at=row["next_run_at"],
        inputs=row["inputs"] or {},
        team=row["team"],
    )


def _planned(
    decisions: Decisions, plan: Plan
) -> tuple[list[tuple[Accepted, DagRunInfo | None]], Mapping[str, Sequence[FileError]]]:
    """Work out the next runs. A timetable that fails makes an error of its DAG, never of the batch (case A4)."""
    planned: list[tuple[Accepted, DagRunInfo | None]] = []
    errors = {file: list(found) for file, found in decisions.errors.items()}
    for one in decisions.accepted:
        try:
            last = one.stored.last if one.stored is not None else None
            following = plan(_header(one.dag.document), last) if one.plans_anew else None
        except Exception as error:
            line = one.dag.document.get("line")
            message = f"{one.file.file}, line {line}: the schedule of DAG {one.dag.dag_id!r} gives no next run: {error}"
            errors[one.file.file].append(FileError(message, line, dag_id=one.dag.dag_id))
        else:
            planned.append((one, following))
    return planned, errors


def _header(document: Any) -> DagDocument:
    """Return the document without its tasks: all that a timetable needs, at a tenth of the price."""
    return loads({name: value for name, value in document.items() if name not in ("tasks", "groups", "params")})


def _store_warnings(connection: Connection, decisions: Decisions, now: datetime) -> None:
    # An unchanged file whose digest happens to equal the stored one was run once: nothing new is known of its fields.
    kept = [
        one.dag.dag_id
        for one in decisions.accepted
        if one.stored is not None and not one.verdict.is_new and not one.verdict.unstable and not one.updates_code
    ]
    execute(
        connection,
        """
        DELETE FROM dag_warning
        WHERE dag_id = ANY(%(ids)s) AND NOT (kind = %(unstable)s AND dag_id = ANY(%(kept)s))
        """,
        {"ids": [one.dag.dag_id for one in decisions.accepted], "kept": kept, "unstable": UNSTABLE},
    )
    dag_warnings.store(connection, ((one.dag_id, one.kind, one.message) for one in decisions.warnings), now=now)
