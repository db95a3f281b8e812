"""The statements that ``storing`` writes a batch with. Rows travel as one JSON array, since arrays do not nest in
``unnest``; each function is one statement or two, for any number of rows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle.timetables.base import DagRunInfo
from treadle_metadata.catalog.decisions import Accepted
from treadle_metadata.catalog.parsed import FileError, FileState, ParsedFile
from treadle_metadata.rights.teams import TEAM_OF_FILE
from treadle_metadata.statements import execute, tuples

_TEAM: Final[LiteralString] = TEAM_OF_FILE.replace("{file}", "new.file")


def forget_files(connection: Connection, gone: Collection[str]) -> list[str]:
    """Drop files; return the ids of the DAGs that became inactive with them."""
    files = {"files": list(gone)}
    execute(connection, "DELETE FROM import_error WHERE file = ANY(%(files)s)", files)
    execute(connection, "DELETE FROM dag_file WHERE file = ANY(%(files)s)", files)
    found = tuples(
        connection,
        """
        UPDATE dag SET is_active = false, has_import_errors = false
        WHERE is_active AND file = ANY(%(files)s)
        RETURNING dag_id
        """,
        files,
    )
    return [row[0] for row in found]


def store_touched(connection: Connection, touched: Mapping[str, FileState]) -> None:
    """Store new times of files whose content is the same."""
    execute(
        connection,
        """
        UPDATE dag_file SET mtime_ns = new.mtime_ns, inputs = new.inputs
        FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (file text, mtime_ns bigint, inputs jsonb)
        WHERE dag_file.file = new.file
        """,
        {
            "rows": json.dumps(
                [{"file": file, "mtime_ns": one.mtime_ns, "inputs": one.inputs} for file, one in touched.items()]
            )
        },
    )


def store_versions(connection: Connection, accepted: Sequence[Accepted], *, now: datetime) -> dict[str, int]:
    """Insert the new versions and return their ids by DAG id; give unchanged ones their file's new text.

    The text that a version had before stays: ``dag_version_code`` names all that it has had.
    """
    new = [one for one in accepted if one.verdict.is_new]
    found: Sequence[Any] = ()
    if new:
        found = tuples(
            connection,
            """
            INSERT INTO dag_version (dag_id, number, hash, document, file_hash, created_at)
            SELECT new.dag_id,
                   1 + coalesce((SELECT max(number) FROM dag_version AS old WHERE old.dag_id = new.dag_id), 0),
                   new.hash, new.document, new.file_hash, %(now)s
            FROM jsonb_to_recordset(%(rows)s::jsonb)
                AS new (dag_id text, hash text, document jsonb, file_hash text)
            RETURNING dag_id, id, file_hash
            """,
            {"rows": json.dumps([_version(one) for one in new]), "now": now},
        )
    edited = [_version(one) for one in accepted if one.updates_code]
    if edited:
        execute(
            connection,
            """
            UPDATE dag_version AS version SET file_hash = new.file_hash
            FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (id bigint, file_hash text)
            WHERE version.id = new.id
            """,
            {"rows": json.dumps(edited)},
        )
    texts = [(row[1], row[2]) for row in found] + [(one["id"], one["file_hash"]) for one in edited]
    _store_texts(connection, [one.file for one in accepted], texts, now)
    return {row[0]: row[1] for row in found}


def _store_texts(
    connection: Connection, files: Iterable[ParsedFile], texts: Sequence[tuple[int, str]], now: datetime
) -> None:
    """Keep the files' texts, and that these versions have had them from ``now`` on; a text is kept once."""
    if not texts:
        return
    sources = {one.state.hash: one.code for one in files}
    execute(
        connection,
        """
        WITH kept AS (
            INSERT INTO dag_code (hash, source, stored_at)
            SELECT new.hash, new.source, %(now)s
            FROM unnest(%(hashes)s::text[], %(sources)s::text[]) AS new (hash, source)
            ON CONFLICT (hash) DO NOTHING
        )
        INSERT INTO dag_version_code (version_id, hash, since)
        SELECT had.version_id, had.hash, %(now)s
        FROM unnest(%(versions)s::bigint[], %(texts)s::text[]) AS had (version_id, hash)
        ON CONFLICT (version_id, hash) DO UPDATE SET since = excluded.since
        """,
        {
            "hashes": list(sources),
            "sources": list(sources.values()),
            "versions": [version for version, _ in texts],
            "texts": [text for _, text in texts],
            "now": now,
        },
    )


def _version(one: Accepted) -> dict[str, Any]:
    return {
        "id": one.stored and one.stored.version_id,
        "dag_id": one.dag.dag_id,
        "hash": one.dag.digest,
        "document": one.dag.document if one.verdict.is_new else None,
        "file_hash": one.file.state.hash,
    }


def store_dags(
    connection: Connection,
    accepted: Sequence[tuple[Accepted, DagRunInfo | None]],
    versions: Mapping[str, int],
    *,
    now: datetime,
    paused_by_default: bool,
) -> None:
    """Insert new DAGs, update known ones, and plan the next run where that is to be worked out anew."""
    if not accepted:
        return
    execute(
        connection,
        f"""
        INSERT INTO dag (dag_id, file, team, version_id, is_paused, display_name, description, owners, tags,
                         schedule_summary, max_active_runs, max_active_tasks, waits_for_past, last_parsed_at,
                         parse_seconds, created_at)
        SELECT new.dag_id, new.file, {_TEAM}, new.version_id, coalesce(new.is_paused, %(paused)s), new.display_name,
               new.description, new.owners, new.tags, new.schedule_summary, new.max_active_runs, new.max_active_tasks,
               new.waits_for_past, %(now)s, new.parse_seconds, %(now)s
        FROM jsonb_to_recordset(%(rows)s::jsonb)
            AS new (dag_id text, file text, version_id bigint, is_paused boolean, display_name text, description text,
                    owners text[], tags text[], schedule_summary text, max_active_runs int, max_active_tasks int,
                    waits_for_past boolean, parse_seconds float)
        ON CONFLICT (dag_id) DO UPDATE
        SET file = excluded.file, team = excluded.team, version_id = excluded.version_id, is_active = true,
            has_import_errors = false,
            display_name = excluded.display_name, description = excluded.description, owners = excluded.owners,
            tags = excluded.tags, schedule_summary = excluded.schedule_summary,
            max_active_runs = excluded.max_active_runs, max_active_tasks = excluded.max_active_tasks,
            waits_for_past = excluded.waits_for_past, last_parsed_at = excluded.last_parsed_at,
            parse_seconds = excluded.parse_seconds
        """,
        {
            "rows": json.dumps([_dag(one, versions) for one, _ in accepted]),
            "now": now,
            "paused": paused_by_default,
        },
    )
    _plan(connection, [_next(one, following) for one, following in accepted if one.plans_anew])


def _dag(one: Accepted, versions: Mapping[str, int]) -> dict[str, Any]:
    document = one.dag.document
    return {
        "dag_id": one.dag.dag_id,
        "file": one.file.file,
        "version_id": versions.get(one.dag.dag_id) or (one.stored and one.stored.version_id),
        "is_paused": document.get("is_paused_upon_creation"),
        "display_name": document.get("display_name"),
        "description": document.get("description"),
        "owners": document.get("owners", []),
        "tags": document.get("tags", []),
        "schedule_summary": document.get("schedule", {}).get("summary"),
        "max_active_runs": document.get("max_active_runs"),
        "max_active_tasks": document.get("max_active_tasks"),
        "waits_for_past": any(
            task.get("depends_on_past") or task.get("wait_for_downstream") for task in document.get("tasks", [])
        ),
        "parse_seconds": one.file.parse_seconds,
    }


def _plan(connection: Connection, planned: Sequence[Mapping[str, Any]]) -> None:
    if planned:
        execute(
            connection,
            """
            UPDATE dag SET next_run_at = CASE WHEN dag.is_paused AND new.is_unknown THEN NULL ELSE new.run_after END,
                           next_logical_date = new.logical_date,
                           next_interval_start = new.interval_start, next_interval_end = new.interval_end,
                           at_run_limit = false
            FROM jsonb_to_recordset(%(rows)s::jsonb)
                AS new (dag_id text, run_after timestamptz, logical_date timestamptz, interval_start timestamptz,
                        interval_end timestamptz, is_unknown boolean)
            WHERE dag.dag_id = new.dag_id
            """,
            {"rows": json.dumps(planned)},
        )


def _next(one: Accepted, following: DagRunInfo | None) -> dict[str, Any]:
    if following is None:
        return {"dag_id": one.dag.dag_id}
    if one.dag.document.get("schedule", {}).get("kind") == "custom":
        # Only its own process can tell; the scheduler asks it at once or, if the DAG is paused, when it goes on.
        return {"dag_id": one.dag.dag_id, "run_after": following.run_after.isoformat(), "is_unknown": True}
    return {
        "dag_id": one.dag.dag_id,
        "run_after": following.run_after.isoformat(),
        "logical_date": following.logical_date.isoformat(),
        "interval_start": following.data_interval.start.isoformat(),
        "interval_end": following.data_interval.end.isoformat(),
    }


def mark_failing(
    connection: Connection, files: Sequence[ParsedFile], errors: Mapping[str, Sequence[FileError]]
) -> None:
    """Mark the DAGs that keep an older version because their file, or they themselves, could not be read."""
    failed = [one.file for one in files if one.failed]
    pairs = [(file, one.dag_id) for file, found in errors.items() for one in found if one.dag_id is not None]
    if failed or pairs:
        execute(
            connection,
            """
            UPDATE dag SET has_import_errors = true
            WHERE NOT has_import_errors AND (
                file = ANY(%(failed)s)
                OR (dag_id, file) IN (SELECT * FROM unnest(%(ids)s::text[], %(files)s::text[])))
            """,
            {"failed": failed, "ids": [dag_id for _, dag_id in pairs], "files": [file for file, _ in pairs]},
        )


def deactivate(
    connection: Connection,
    files: Sequence[ParsedFile],
    accepted: Iterable[Accepted],
    errors: Mapping[str, Sequence[FileError]],
) -> list[str]:
    """Make the DAGs inactive that their file no longer defines; return their ids."""
    kept = {one.dag.dag_id for one in accepted}
    kept |= {one.dag_id for found in errors.values() for one in found if one.dag_id is not None}
    found = tuples(
        connection,
        """
        UPDATE dag SET is_active = false, has_import_errors = false
        WHERE is_active AND file = ANY(%(files)s) AND NOT dag_id = ANY(%(kept)s)
        RETURNING dag_id
        """,
        {"files": [one.file for one in files if not one.failed], "kept": sorted(kept)},
    )
    return [row[0] for row in found]


def store_errors(
    connection: Connection, files: Sequence[ParsedFile], errors: Mapping[str, Sequence[FileError]], *, now: datetime
) -> None:
    """Store one row for each failing file, and drop those of files that are mended."""
    mended = [one.file for one in files if not errors[one.file]]
    execute(connection, "DELETE FROM import_error WHERE file = ANY(%(files)s)", {"files": mended})
    failing = [_error(file, found) for file, found in errors.items() if found]
    if failing:
        execute(
            connection,
            """
            INSERT INTO import_error (file, line, message, stacktrace, occurred_at)
            SELECT new.file, new.line, new.message, new.stacktrace, %(now)s
            FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (file text, line int, message text, stacktrace text)
            ON CONFLICT (file) DO UPDATE
            SET line = excluded.line, message = excluded.message, stacktrace = excluded.stacktrace,
                occurred_at = CASE WHEN import_error.message = excluded.message THEN import_error.occurred_at
                                   ELSE excluded.occurred_at END
            """,
            {"rows": json.dumps(failing), "now": now},
        )


def _error(file: str, found: Sequence[FileError]) -> dict[str, Any]:
    return {
        "file": file,
        "line": found[0].line,
        "message": "\n".join(one.message for one in found),
        "stacktrace": "\n".join(one.stacktrace for one in found if one.stacktrace),
    }


def store_files(connection: Connection, files: Sequence[ParsedFile], *, now: datetime) -> None:
    """Remember what was parsed, so that it is not parsed again until it changes."""
    execute(
        connection,
        """
        INSERT INTO dag_file (file, mtime_ns, size, hash, inputs, parsed_at, parse_seconds)
        SELECT new.file, new.mtime_ns, new.size, new.hash, new.inputs, %(now)s, new.parse_seconds
        FROM jsonb_to_recordset(%(rows)s::jsonb)
            AS new (file text, mtime_ns bigint, size bigint, hash text, inputs jsonb, parse_seconds float)
        ON CONFLICT (file) DO UPDATE
        SET mtime_ns = excluded.mtime_ns, size = excluded.size, hash = excluded.hash, inputs = excluded.inputs,
            parsed_at = excluded.parsed_at, parse_seconds = excluded.parse_seconds
        """,
        {"rows": json.dumps([_file(one) for one in files]), "now": now},
    )


def _file(one: ParsedFile) -> dict[str, Any]:
    state = one.state
    return {
        "file": one.file,
        "mtime_ns": state.mtime_ns,
        "size": state.size,
        "hash": state.hash,
        "inputs": state.inputs,
        "parse_seconds": one.parse_seconds,
    }
