"""What is wrong with a DAG file is a part of its code: pages tell it to those alone who may read that."""

from __future__ import annotations

import pytest
from tests.support.web import Client

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.statements import execute, rows


@pytest.mark.parametrize(("permissions", "is_told"), [(["read DAGs"], False), (["read DAGs", "read code"], True)])
@pytest.mark.parametrize("by_role", [True, False])
def test_pages_tell_what_is_wrong_with_a_file_to_those_who_may_read_code(
    admin: Client,
    sales: str,
    database: Database,
    clock: ManualClock,
    permissions: list[str],
    is_told: bool,
    by_role: bool,
) -> None:
    with database.begin() as connection:
        (dag,) = rows(connection, "SELECT file FROM dag WHERE dag_id = 'sales'")
        execute(connection, "UPDATE dag SET file = 'elsewhere.py' WHERE dag_id <> 'sales'")
        execute(
            connection,
            """
            INSERT INTO import_error (file, message, stacktrace, occurred_at)
            VALUES (%(file)s, 'KeyError: sesame', '', %(now)s)
            """,
            {"file": dag["file"], "now": clock.now()},
        )
        holder = {"permissions": permissions, "now": clock.now()}
        if by_role:
            sql = "INSERT INTO role (name, permissions, created_at) VALUES ('Looker', %(permissions)s, %(now)s)"
            execute(connection, sql, holder)
            execute(connection, "UPDATE account SET role = 'Looker'")
        else:
            execute(connection, "UPDATE account SET role = 'Member'")
            sql = """
                INSERT INTO dag_grant (dag_id, username, permissions, created_at)
                VALUES ('sales', 'admin', %(permissions)s, %(now)s)
            """
            execute(connection, sql, holder)
    assert (admin.get("/api/v2/importErrors").status_code == 200) is is_told
    home = admin.json("/ui/home")
    assert ("sesame" in str(home), home["import_error_count"]) == (is_told, int(is_told))
    assert (admin.json("/ui/dags/sales")["import_error"] is not None) is is_told
