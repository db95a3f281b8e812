"""Locks one row that a person is about to edit, so that what was compared is what is changed."""

from __future__ import annotations

from typing import Final, Literal, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import execute

_LOCK: Final[dict[str, LiteralString]] = {
    "dag": "SELECT FROM dag WHERE dag_id = %(key)s FOR UPDATE",
    "slot_pool": "SELECT FROM slot_pool WHERE name = %(key)s FOR UPDATE",
    "variable": "SELECT FROM variable WHERE key = %(key)s FOR UPDATE",
    "connection": "SELECT FROM connection WHERE conn_id = %(key)s FOR UPDATE",
}


def lock_row(connection: Connection, table: Literal["dag", "slot_pool", "variable", "connection"], key: str) -> None:
    """Lock the row of ``table`` named ``key`` until the transaction ends; does nothing if there is none."""
    execute(connection, _LOCK[table], {"key": key})
