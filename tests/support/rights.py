"""Two teams that know nothing of one another: everything that a DAG can have, once in red and once in blue.

Every name of a team's thing holds the name of its colour, so that whatever leaks can be seen in an answer's text.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, LiteralString

from bench.documents import install
from sqlalchemy import Connection
from tests.support.web import add_instances, add_try, add_xcom

from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata import audit, backfills
from treadle_metadata.accounts import create_account
from treadle_metadata.crypto import Crypto
from treadle_metadata.resources import create_connection, create_pool, create_variable
from treadle_metadata.rights.teams import create_team, set_member
from treadle_metadata.runs import trigger_run
from treadle_metadata.statements import execute, rows, tuples

RED: Final = "red"
BLUE: Final = "blue"
SHARED: Final = "shared_asset"
"""An asset that blue makes and both wait for."""

_ROWS: Final[tuple[LiteralString, ...]] = (
    """INSERT INTO import_error (file, message, stacktrace, occurred_at)
       VALUES (%(team)s || '/broken.py', %(team)s || ' message', %(team)s || ' trace', %(now)s)""",
    """INSERT INTO dag_warning (dag_id, kind, message, noticed_at)
       VALUES (%(dag)s, 'slow', %(team)s || ' warns', %(now)s)""",
    """INSERT INTO missed_slot (dag_id, run_after, logical_date, last_run_after, slots, reason, noticed_at)
       VALUES (%(dag)s, %(now)s, %(now)s, %(now)s, 1, 'late', %(now)s)""",
    """INSERT INTO callback (dag_run_id, event, state, version_id, attempt_id, created_at, started_at, ended_at,
                             log_path)
       SELECT id, 'run_success', 'success', version_id, gen_random_uuid(), %(now)s, %(now)s, %(now)s,
              %(team)s || '/callback.log' FROM dag_run WHERE id = %(run)s""",
    """INSERT INTO deadline (dag_run_id, clear_number, position, name, reference, base_at, due_at)
       VALUES (%(run)s, 0, 0, %(team)s || '_deadline', 'queued_at', %(now)s, %(now)s)""",
    """INSERT INTO durable_journal (id, month, task_instance_id, plan, opened_at)
       VALUES (%(journal)s::uuid, %(month)s, %(instance)s, %(team)s || '_plan', %(now)s)""",
    """INSERT INTO durable_step (task_instance_id, journal_id, name, inputs, month, kind, value, begun_at, done_at)
       VALUES (%(instance)s, %(journal)s::uuid, %(team)s || '_step', '[]', %(month)s, 'step', '1', %(now)s, %(now)s)""",
    """INSERT INTO human_step (task_instance_id, month, try_number, subject, options, multiple, params, assignees,
                               asked_at)
       VALUES (%(instance)s, %(month)s, 1, %(team)s || ' asks', '["a"]', false, '{}', '[]', %(now)s)""",
    "INSERT INTO asset_alias (name, created_at) VALUES (%(team)s || '_alias', %(now)s)",
    """INSERT INTO asset_reference (dag_id, role, task_id, kind, name, created_at)
       VALUES (%(dag)s, 'outlet', %(task)s, 'alias', %(team)s || '_alias', %(now)s),
              (%(dag)s, 'inlet', %(task)s, 'asset', 'shared_asset', %(now)s)""",
    """INSERT INTO asset_run_queue (dag_id, kind, name, event_id)
       SELECT %(dag)s, 'asset', %(team)s || '_asset', max(id) FROM asset_event""",
)


def paint(connection: Connection, team: str, *, logs: Path, crypto: Crypto, now: datetime) -> None:
    """Make a team with a DAG that has run, and everything that can hang on these."""
    create_team(connection, team, [team], now=now)
    dag, task = f"{team}_dag", f"{team}_task"
    outlets = (("asset", f"{team}_asset"),)
    document = DagDocument(
        dag_id=dag,
        description=f"{team} describes",
        tags=(f"{team}_tag",),
        owners=(f"{team}_owner",),
        schedule=ScheduleDocument(kind="cron", expressions=("0 6 * * *",), summary="0 6 * * *"),
        start_date="2026-01-01T00:00:00+00:00",
        tasks=(TaskDocument(task_id=task, operator="PythonOperator", pool=f"{team}_pool", outlets=outlets),),
    )
    create_pool(connection, f"{team}_pool", 1, team=team)
    create_variable(connection, f"{team}_variable", f"{team} value", crypto=crypto, team=team)
    create_variable(connection, "same", f"{team} value of the same", crypto=crypto, team=team)
    create_connection(connection, f"{team}_conn", {"conn_type": "http", "host": team}, crypto=crypto, team=team)
    columns: dict[str, Any] = {"tags": [f"{team}_tag"], "owners": [f"{team}_owner"], "team": team}
    install(connection, document, now=now, file=f"{team}/{team}.py", display_name=f"{team} dag", **columns)
    _give_code(connection, dag, f"# {team} code", now)
    run = trigger_run(connection, dag, run_id=f"{team}_run", conf={"x": f"{team} conf"}, user=f"{team}_user", now=now)
    add_instances(connection, dag, f"{team}_run", {task: 0}, now=now)
    add_try(connection, dag, f"{team}_run", task, f"{team}/task.log", now=now)
    add_xcom(connection, dag, f"{team}_run", task, f"{team}_key", f'"{team} xcom"', now=now)
    ((instance,),) = tuples(connection, "SELECT id FROM task_instance WHERE dag_id = %(dag)s", {"dag": dag})
    made = {
        "asset": (f"{team}_asset", f"x://{team}_asset"),
        "shared": (SHARED, "x://shared"),
    }
    for name, uri in made.values():
        sql = """
            INSERT INTO asset (name, uri, created_at, updated_at) VALUES (%(name)s, %(uri)s, %(now)s, %(now)s)
            ON CONFLICT (name) DO NOTHING
        """
        execute(connection, sql, {"name": name, "uri": uri, "now": now})
    _tell(connection, f"{team}_asset", team, now)
    facts = {
        "team": team,
        "dag": dag,
        "task": task,
        "run": run["id"],
        "month": run["month"],
        "instance": instance,
        "journal": f"00000000-0000-4000-8000-{instance:012d}",
        "now": now,
    }
    for statement in _ROWS:
        execute(connection, statement, facts)
    backfills.create(connection, dag, now - timedelta(days=2), now - timedelta(days=1), user=f"{team}_user", now=now)
    audit.record(connection, actor=f"{team}_user", event="trigger_dag_run", dag_id=dag, run_id=f"{team}_run", now=now)
    (logs / team).mkdir(parents=True, exist_ok=True)
    for name in ("task", "callback"):
        (logs / team / f"{name}.log").write_text(f'{{"text": "{team} log", "level": "info"}}\n')


def _give_code(connection: Connection, dag: str, code: str, now: datetime) -> None:
    execute(
        connection,
        """
        WITH kept AS (INSERT INTO dag_code (hash, source, stored_at) VALUES (%(code)s, %(code)s, %(now)s)),
             newest AS (UPDATE dag_version SET file_hash = %(code)s WHERE dag_id = %(dag)s RETURNING id)
        INSERT INTO dag_version_code (version_id, hash, since) SELECT id, %(code)s, %(now)s FROM newest
        """,
        {"dag": dag, "code": code, "now": now},
    )


def _tell(connection: Connection, asset: str, team: str, now: datetime) -> None:
    execute(
        connection,
        """
        INSERT INTO asset_event (asset_id, source_dag_id, source_task_id, source_run_id, source_map_index, happened_at)
        SELECT id, %(team)s || '_dag', %(team)s || '_task', %(team)s || '_run', -1, %(now)s
        FROM asset WHERE name = %(asset)s
        """,
        {"asset": asset, "team": team, "now": now},
    )


def share(connection: Connection, now: datetime) -> None:
    """Let blue tell of the shared asset."""
    _tell(connection, SHARED, BLUE, now)


def member(connection: Connection, team: str, role: str, *, now: datetime) -> str:
    """Make an account that has a role in a team and none elsewhere; return its name."""
    username = f"{team}_{role.lower()}"
    create_account(connection, username, None, "Member", now=now)
    set_member(connection, team, username, role)
    return username


def ids_of(connection: Connection, team: str) -> dict[str, str]:
    """Return what stands for each parameter of a path, of a team's things."""
    wanted: dict[str, LiteralString] = {
        "backfill_id": "SELECT id FROM backfill WHERE dag_id = %(dag)s",
        "callback_id": "SELECT id FROM callback WHERE log_path = %(team)s || '/callback.log'",
        "asset_id": "SELECT id FROM asset WHERE name = %(team)s || '_asset'",
        "asset_alias_id": "SELECT id FROM asset_alias WHERE name = %(team)s || '_alias'",
        "import_error_id": "SELECT id FROM import_error WHERE file = %(team)s || '/broken.py'",
        "event_log_id": "SELECT max(id) FROM audit_log WHERE dag_id = %(dag)s",
    }
    found = {
        name: str(tuples(connection, sql, {"team": team, "dag": f"{team}_dag"})[0][0]) for name, sql in wanted.items()
    }
    names = {
        "dag_id": f"{team}_dag",
        "dag_run_id": f"{team}_run",
        "run_id": f"{team}_run",
        "task_id": f"{team}_task",
        "xcom_key": f"{team}_key",
        "pool_name": f"{team}_pool",
        "variable_key": f"{team}_variable",
        "connection_id": f"{team}_conn",
        "map_index": "-1",
        "group_id": f"{team}_group",
    }
    return found | names


def rows_with(connection: Connection, text: str) -> dict[str, list[str]]:
    """Return the rows of all tables but the audit log that hold ``text``, as text."""
    tables = rows(connection, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename !~ '^audit'")
    found: dict[str, list[str]] = {}
    for row in tables:
        name: Any = row["tablename"]
        sql: Any = f"SELECT one::text FROM {name} AS one WHERE one::text LIKE %(text)s ORDER BY 1"
        found[name] = [one[0] for one in tuples(connection, sql, {"text": f"%{text}%"})]
    return {name: listed for name, listed in found.items() if listed}


def named(team: str) -> dict[tuple[str, str], Any]:
    """Return bodies that name a team's things, of the routes that say in their body what they are about."""
    backfill = {"dag_id": f"{team}_dag", "from_date": "2026-01-02", "to_date": "2026-01-03"}
    runs = {"dag_ids": [f"{team}_dag"]}
    return {
        ("POST", "/api/v2/backfills"): backfill,
        ("POST", "/api/v1/backfills"): backfill,
        ("POST", "/api/v2/backfills/dry_run"): backfill,
        ("POST", "/api/v2/dags/{dag_id}/dagRuns/list"): runs,
        ("POST", "/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/list"): runs,
        ("PATCH", "/api/v2/pools"): _bulk("delete", f"{team}_pool"),
        ("PATCH", "/api/v2/variables"): _bulk("delete", f"{team}_variable"),
        ("PATCH", "/api/v2/connections"): _bulk("delete", f"{team}_conn"),
        ("POST", "/api/v2/pools"): {"name": f"{team}_new", "slots": 1, "team_name": team},
        ("POST", "/api/v2/variables"): {"key": f"{team}_new", "value": "x", "team_name": team},
        ("POST", "/api/v2/connections"): {"connection_id": f"{team}_new", "conn_type": "http", "team_name": team},
        ("PATCH", "/api/v2/pools/{pool_name:path}"): {"slots": 2},
        ("PATCH", "/api/v2/variables/{variable_key:path}"): {"key": f"{team}_variable", "value": "x"},
        ("PATCH", "/api/v2/connections/{connection_id:path}"): {"connection_id": f"{team}_conn", "conn_type": "ftp"},
        ("PATCH", "/api/v2/dags"): {"is_paused": True},
    }


def _bulk(action: str, name: str) -> dict[str, Any]:
    return {"actions": [{"action": action, "entities": [name]}]}


NO_FOREIGN_BODY: Final = {
    # The asset is named by its id, which the test below tries.
    ("POST", "/api/v2/assets/events"),
    # Names nothing that is stored.
    ("POST", "/api/v2/connections/test"),
}
