"""Further versions of DAGs put straight into the database."""

from __future__ import annotations

import hashlib
from datetime import datetime

from sqlalchemy import Connection, func, insert, select, update

from treadle.digest import digest
from treadle.document import DagDocument, to_json
from treadle_metadata.assets.references import store_references
from treadle_metadata.tables import dag, dag_version


def add_version(connection: Connection, document: DagDocument, *, now: datetime, code: str = "") -> int:
    """Make ``document`` the newest version of its DAG, which has one already; return its number."""
    file_hash = hashlib.sha256(code.encode()).hexdigest()
    connection.exec_driver_sql(
        "INSERT INTO dag_code (hash, source, stored_at) VALUES (%(hash)s, %(code)s, %(now)s) ON CONFLICT DO NOTHING",
        {"hash": file_hash, "code": code, "now": now},
    )
    newest = select(func.max(dag_version.c.number)).where(dag_version.c.dag_id == document.dag_id)
    number = int(connection.execute(newest).scalar_one()) + 1
    values = {
        "dag_id": document.dag_id,
        "number": number,
        "hash": digest(document),
        "document": to_json(document),
        "file_hash": file_hash,
        "created_at": now,
    }
    version = connection.execute(insert(dag_version).values(values).returning(dag_version.c.id)).scalar_one()
    connection.exec_driver_sql(
        "INSERT INTO dag_version_code (version_id, hash, since) VALUES (%(version)s, %(hash)s, %(now)s)",
        {"version": version, "hash": file_hash, "now": now},
    )
    connection.execute(update(dag).where(dag.c.dag_id == document.dag_id).values(version_id=version))
    store_references(connection, {document.dag_id: to_json(document)}, now=now)
    return number
