"""What all table modules share: the registry, the naming of constraints, and short forms of columns."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import CheckConstraint, Column, DateTime, MetaData

NAMING = {
    "pk": "%(table_name)s_pkey",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "ix": "%(column_0_N_label)s_index",
}

metadata = MetaData(naming_convention=NAMING)


def moment(name: str, *, required: bool = False) -> Column[object]:
    """Return a column that holds an instant (timezone-aware, UTC)."""
    return Column(name, DateTime(timezone=True), nullable=not required)


def one_of(column: str, values: Iterable[StrEnum], name: str) -> CheckConstraint:
    """Return the CHECK that ``column`` holds one of ``values``."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=name)
