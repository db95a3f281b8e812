"""Further versions of DAGs put straight into the database."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, func, insert, select, update

from treadle.digest import digest
from treadle.document import DagDocument, to_json
from treadle_metadata.tables import dag, dag_version


def add_version(connection: Connection, document: DagDocument, *, now: datetime, code: str = "") -> int:
    """Make ``document`` the newest version of its DAG, which has one already; return its number."""
    newest = select(func.max(dag_version.c.number)).where(dag_version.c.dag_id == document.dag_id)
    number = int(connection.execute(newest).scalar_one()) + 1
    values = {
        "dag_id": document.dag_id,
        "number": number,
        "hash": digest(document),
        "document": to_json(document),
        "code": code,
        "file_hash": "",
        "created_at": now,
    }
    version = connection.execute(insert(dag_version).values(values).returning(dag_version.c.id)).scalar_one()
    connection.execute(update(dag).where(dag.c.dag_id == document.dag_id).values(version_id=version))
    return number
