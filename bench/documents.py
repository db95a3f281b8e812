"""DAG documents put straight into the database, for benchmarks and tests of the scheduler alone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert

from treadle import document as documents
from treadle.digest import digest
from treadle.document import DagDocument
from treadle_metadata.assets.references import store_references
from treadle_metadata.tables import dag, dag_version


def install(connection: Connection, document: DagDocument, *, now: datetime, **columns: Any) -> None:
    """Store a DAG version as the DAG processor would, unpaused; ``columns`` are further values of its ``dag`` row."""
    version = connection.execute(
        insert(dag_version)
        .values(
            dag_id=document.dag_id,
            number=1,
            hash=digest(document),
            document=documents.to_json(document),
            file_hash="",
            created_at=now,
        )
        .returning(dag_version.c.id)
    ).scalar_one()
    values = {
        "dag_id": document.dag_id,
        "file": f"{document.dag_id}.py",
        "version_id": version,
        "is_paused": False,
        "max_active_runs": document.max_active_runs,
        "max_active_tasks": document.max_active_tasks,
        "waits_for_past": any(task.waits_for_past for task in document.tasks),
        "created_at": now,
    }
    connection.execute(insert(dag).values(values | columns))
    store_references(connection, {document.dag_id: documents.to_json(document)}, now=now)
