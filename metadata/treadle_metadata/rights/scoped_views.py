"""What an account with rights for some DAGs only can reach in the database: views that leave out everything else.

The web server runs the requests of such an account in transactions whose ``search_path`` begins with the schema of
these views. Each has the name of a table, so every statement of the project meets the view instead, with nothing in
its text that could be forgotten: lists, counts, searches, batches and errors know of no foreign row (cases E12, F11,
F12). ``migration`` makes the views anew with each schema; a crash in between leaves the old ones, or none, in which
case such accounts are refused. Accounts whose rights reach everything never meet them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import execute, tuples
from treadle_metadata.tables import metadata

_PREFIX: Final = "treadle_scope, "
_MARK: Final = "treadle_scope"
"""Execution option of a connection whose transaction reaches a scope only."""

# Evaluated once for a statement, not for each row.
_TEAMS: Final[LiteralString] = "ANY ((SELECT nullif(current_setting('treadle.teams', true), '')::text[])::text[])"
_TEAMS_OF_DAGS: Final[LiteralString] = (
    "ANY ((SELECT nullif(current_setting('treadle.teams_of_dags', true), '')::text[])::text[])"
)
_GRANTED: Final[LiteralString] = "ANY ((SELECT nullif(current_setting('treadle.dags', true), '')::text[])::text[])"
_DAGS: Final[LiteralString] = f"""
    ANY (ARRAY(SELECT seen.dag_id FROM {{base}}.dag AS seen
               WHERE seen.team = {_TEAMS_OF_DAGS} OR seen.dag_id = {_GRANTED}))
"""

_OF_DAG: Final[LiteralString] = f"it.dag_id = {_DAGS}"
_OF_TEAM: Final[LiteralString] = f"it.team = {_TEAMS}"
_OF_RUN: Final[LiteralString] = f"""
    EXISTS (SELECT FROM {{base}}.dag_run AS run WHERE run.id = it.dag_run_id AND run.dag_id = {_DAGS})
"""
_OF_INSTANCE: Final[LiteralString] = f"""
    EXISTS (SELECT FROM {{base}}.task_instance AS instance
            WHERE instance.id = it.task_instance_id AND instance.month = it.month AND instance.dag_id = {_DAGS})
"""
_OF_VERSION: Final[LiteralString] = f"""
    EXISTS (SELECT FROM {{base}}.dag_version AS version WHERE version.id = it.version_id AND version.dag_id = {_DAGS})
"""
# A file of several teams' DAGs shows to none of them what the others wrote.
_OF_FILE: Final[LiteralString] = f"""
    (EXISTS (SELECT FROM {{base}}.dag WHERE dag.file = it.file AND dag.dag_id = {_DAGS})
     OR (SELECT folder.team FROM {{base}}.team_folder AS folder WHERE starts_with(it.file, folder.folder || '/')
         ORDER BY length(folder.folder) DESC LIMIT 1) = {_TEAMS})
    AND NOT EXISTS (SELECT FROM {{base}}.dag WHERE dag.file = it.file AND NOT dag.dag_id = {_DAGS})
"""
_ASSET_KNOWN: Final[LiteralString] = f"""
    EXISTS (SELECT FROM {{base}}.asset_reference AS reference WHERE reference.dag_id = {_DAGS}
            AND (reference.kind, reference.name) IN (('asset', asset.name), ('uri', asset.uri)))
    OR EXISTS (SELECT FROM {{base}}.asset_event AS told
               WHERE told.asset_id = asset.id AND told.source_dag_id = {_DAGS})
"""
_ALIAS_KNOWN: Final[LiteralString] = f"""
    EXISTS (SELECT FROM {{base}}.asset_reference AS reference
            WHERE reference.dag_id = {_DAGS} AND reference.kind = 'alias' AND reference.name = %s)
"""

SCOPED: Final[dict[LiteralString, LiteralString]] = {
    "asset": _ASSET_KNOWN.replace("asset.name", "it.name").replace("asset.uri", "it.uri").replace("asset.id", "it.id"),
    "asset_alias": _ALIAS_KNOWN.replace("%s", "it.name"),
    "asset_alias_event": _ALIAS_KNOWN.replace("%s", "it.alias_name"),
    "asset_event": f"""
        it.source_dag_id = {_DAGS}
        OR EXISTS (SELECT FROM {{base}}.asset WHERE asset.id = it.asset_id AND ({_ASSET_KNOWN}))
    """,
    "asset_reference": _OF_DAG,
    "asset_run_queue": _OF_DAG,
    "audit_log": _OF_DAG,
    "backfill": _OF_DAG,
    "callback": _OF_RUN,
    "connection": _OF_TEAM,
    "dag": f"(it.team = {_TEAMS_OF_DAGS} OR it.dag_id = {_GRANTED})",
    "dag_code": f"""
        EXISTS (SELECT FROM {{base}}.dag_version_code AS had
                JOIN {{base}}.dag_version AS version ON version.id = had.version_id
                WHERE had.hash = it.hash AND version.dag_id = {_DAGS})
    """,
    "dag_favorite": _OF_DAG,
    "dag_file": _OF_FILE,
    "dag_run": _OF_DAG,
    "dag_run_asset_event": _OF_DAG,
    "dag_version": _OF_DAG,
    "dag_version_code": _OF_VERSION,
    "dag_warning": _OF_DAG,
    "deadline": _OF_RUN,
    "deferral": _OF_INSTANCE,
    "durable_blob": _OF_INSTANCE,
    "durable_failure": _OF_INSTANCE,
    "durable_journal": _OF_INSTANCE,
    "durable_step": _OF_INSTANCE,
    "human_step": _OF_INSTANCE,
    "import_error": _OF_FILE,
    "missed_slot": _OF_DAG,
    "sensor_wait": _OF_INSTANCE,
    "slot_pool": _OF_TEAM,
    "task_attempt": _OF_INSTANCE,
    "task_instance": _OF_DAG,
    "trigger": _OF_INSTANCE,
    "trigger_asset": f"EXISTS (SELECT FROM {{base}}.asset WHERE asset.id = it.asset_id AND ({_ASSET_KNOWN}))",
    "variable": _OF_TEAM,
    "work_item": _OF_INSTANCE,
    "xcom": _OF_INSTANCE,
}
"""Which rows of a table an account reaches: ``it`` is the row, ``{base}`` the schema of the tables."""

OPEN: Final = frozenset(
    {
        # Rights themselves: their routes need a permission of the installation, or are about oneself.
        "account",
        "api_token",
        "dag_grant",
        "failed_login",
        "login_session",
        "role",
        "team",
        "team_folder",
        "team_member",
        # Of the installation: nothing of a DAG stands there, or nobody reads it by a route.
        "commit_secret",
        "process",
        "run_wakeup",
        "schedule_pace",
        "state_transition",
        "triggerer",
    }
)
"""Tables that need no view. A test asserts that each table is here or in ``SCOPED``."""

_FOREIGN: Final[dict[tuple[LiteralString, LiteralString], LiteralString]] = {
    ("asset_event", name): f"CASE WHEN it.source_dag_id = {_DAGS} THEN it.{name} END"
    for name in ("source_dag_id", "source_task_id", "source_run_id", "source_map_index")
}
"""Columns that name foreign things in a row that an account may see."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a transaction may reach: the DAGs of some teams, single DAGs, and what belongs to ``teams`` ("": to all)."""

    teams_of_dags: frozenset[str]
    dags: frozenset[str]
    teams: frozenset[str]


def enter(connection: Connection, scope: Scope) -> None:
    """Let the rest of the transaction reach ``scope`` only."""
    connection.execution_options(**{_MARK: scope})
    execute(
        connection,
        """
        SELECT set_config('search_path', 'treadle_scope, ' || current_setting('search_path'), true),
               set_config('treadle.teams_of_dags', %(teams_of_dags)s::text[]::text, true),
               set_config('treadle.dags', %(dags)s::text[]::text, true),
               set_config('treadle.teams', %(teams)s::text[]::text, true)
        """,
        {
            "teams_of_dags": sorted(scope.teams_of_dags),
            "dags": sorted(scope.dags),
            "teams": sorted(scope.teams),
        },
    )


@contextmanager
def everywhere(connection: Connection) -> Iterator[None]:
    """Reach everything within the block: for numbers that all may know, such as how full a pool is, never for names."""
    if _MARK not in connection.get_execution_options():
        yield
        return
    path = str(tuples(connection, "SELECT current_setting('search_path')")[0][0])
    sql = "SELECT set_config('search_path', %(path)s, true)"
    execute(connection, sql, {"path": path.removeprefix(_PREFIX)})
    yield
    execute(connection, sql, {"path": path})


def install(connection: Connection) -> None:
    """Make the views, in place of those that are there, for the tables as this Treadle knows them."""
    remove(connection)
    base = tuples(connection, "SELECT quote_ident(current_schema())")[0][0]
    execute(connection, "CREATE SCHEMA treadle_scope")
    for name, condition in sorted(SCOPED.items()):
        execute(connection, _view(name, condition, _columns(connection, name)).replace("{base}", base))
    execute(connection, f"COMMENT ON SCHEMA treadle_scope IS '{digest()}'")


def remove(connection: Connection) -> None:
    """Drop the views, so that the tables can be changed."""
    execute(connection, "DROP SCHEMA IF EXISTS treadle_scope CASCADE")


def are_current(connection: Connection) -> bool:
    """Tell whether the database has the views of this Treadle."""
    sql = "SELECT obj_description(to_regnamespace('treadle_scope')::oid, 'pg_namespace')"
    return bool(tuples(connection, sql)[0][0] == digest())


@cache
def digest() -> str:
    """Return what tells one set of views from another."""
    columns = {name: [column.name for column in metadata.tables[name].columns] for name in sorted(SCOPED)}
    told = [_view(name, condition, columns[name]) for name, condition in SCOPED.items()]
    return hashlib.sha256("\n".join(sorted(told)).encode()).hexdigest()


def _columns(connection: Connection, table: str) -> list[LiteralString]:
    """Return the columns of a table in their order there, which a view must keep: else a statement that was prepared
    for the table could not be run for the view, nor the other way round."""
    sql = """
        SELECT attname::text FROM pg_attribute
        WHERE attrelid = to_regclass(%(table)s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
    """
    return [row[0] for row in tuples(connection, sql, {"table": table})]


def _view(name: str, condition: LiteralString, columns: Sequence[LiteralString]) -> LiteralString:
    listed = ", ".join(_column(name, column) for column in columns)
    # A row that a statement would push out of its sight, or write beyond it, is refused; but whatever an account does
    # is recorded, also where it may not read that record.
    unchecked = {"audit_log", *(table for table, _ in _FOREIGN)}
    check = "" if name in unchecked else " WITH CHECK OPTION"
    return f"CREATE VIEW treadle_scope.{name} AS SELECT {listed} FROM {{base}}.{name} AS it WHERE {condition}{check}"


def _column(table: str, name: LiteralString) -> LiteralString:
    foreign = _FOREIGN.get((table, name))
    return f'{foreign} AS "{name}"' if foreign else f'it."{name}"'


def dags_of(connection: Connection, scope: Scope) -> frozenset[str]:
    """Return the ids of all DAGs that ``scope`` reaches."""
    found = tuples(
        connection,
        """
        SELECT dag_id FROM dag WHERE team = ANY(%(teams)s::text[])
        UNION SELECT dag_id FROM dag WHERE dag_id = ANY(%(dags)s::text[])
        """,
        {"teams": sorted(scope.teams_of_dags), "dags": sorted(scope.dags)},
    )
    return frozenset(row[0] for row in found)


def reaches(connection: Connection, scope: Scope, dag_id: str) -> bool:
    """Tell whether ``scope`` reaches a DAG, which is one that is there."""
    found = tuples(connection, "SELECT team FROM dag WHERE dag_id = %(dag_id)s", {"dag_id": dag_id})
    return bool(found) and (found[0][0] in scope.teams_of_dags or dag_id in scope.dags)
