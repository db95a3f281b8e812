"""What tasks draw on: pools, variables and connections. Secrets are stored encrypted (``treadle_metadata.crypto``)."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, Integer, Table, Text, text

from treadle_metadata.tables.base import metadata

slot_pool = Table(
    "slot_pool",
    metadata,
    Column("name", Text, primary_key=True),
    # -1 means without limit.
    Column("slots", Integer, nullable=False),
    Column("description", Text, nullable=False, server_default=text("''")),
    Column("include_deferred", Boolean, nullable=False, server_default=text("false")),
    # Whose DAGs may use it; empty: everybody's.
    Column("team", Text, nullable=False, server_default=text("''")),
    CheckConstraint("slots >= -1", name="slots_known"),
)

variable = Table(
    "variable",
    metadata,
    # Whose it is; empty: everybody's. Two teams may have one key each, and none sees the other's.
    Column("team", Text, primary_key=True, server_default=text("''")),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("description", Text),
)

connection = Table(
    "connection",
    metadata,
    Column("team", Text, primary_key=True, server_default=text("''")),
    Column("conn_id", Text, primary_key=True),
    Column("conn_type", Text, nullable=False),
    Column("description", Text),
    Column("host", Text),
    Column("schema", Text),
    Column("login", Text),
    Column("password", Text),
    Column("port", Integer),
    Column("extra", Text),
)
