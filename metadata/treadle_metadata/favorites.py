"""Which DAGs an account has marked as its favourites. Called by the UI's routes, in their transaction."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from treadle_metadata.statements import execute


def set_favorite(connection: Connection, username: str, dag_id: str, *, on: bool, now: datetime) -> None:
    """Mark a DAG as a favourite of ``username``, or take that back; either may be so already."""
    parameters = {"username": username, "dag_id": dag_id, "now": now}
    if on:
        execute(
            connection,
            """
            INSERT INTO dag_favorite (username, dag_id, marked_at) VALUES (%(username)s, %(dag_id)s, %(now)s)
            ON CONFLICT DO NOTHING
            """,
            parameters,
        )
    else:
        execute(
            connection, "DELETE FROM dag_favorite WHERE username = %(username)s AND dag_id = %(dag_id)s", parameters
        )
