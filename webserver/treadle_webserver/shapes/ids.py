"""Row numbers in the form that clients of Airflow's API insist on: they read versions' and instances' ids as UUIDs."""

from __future__ import annotations

from uuid import UUID


def uuid_of(number: int) -> str:
    """Return ``number`` written as a UUID: the same number, so that the two forms name one row."""
    return str(UUID(int=number))
