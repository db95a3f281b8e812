"""Instants as DAG files give them: aware, naive (read as UTC) or ISO 8601 text."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any


def moment_of(value: Any) -> datetime | None:
    """Return ``value`` as an aware datetime; a naive one is read as UTC.

    Raises:
        ValueError: it is neither a datetime nor ISO 8601 text.
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("a datetime or ISO 8601 text such as '2025-01-01T06:00:00+00:00'") from None
    if not isinstance(value, datetime):
        raise ValueError("a datetime or ISO 8601 text such as '2025-01-01T06:00:00+00:00'")
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def utc_text(moment: datetime | None) -> str | None:
    """Return the ISO 8601 text of ``moment`` in UTC, as documents carry it."""
    return None if moment is None else moment.astimezone(UTC).isoformat()


def zone_name(zone: tzinfo | None) -> str:
    """Return the IANA name of ``zone``; a fixed offset of whole hours becomes its ``Etc/GMT`` name.

    Raises:
        ValueError: the zone has no such name.
    """
    if zone is None or zone is UTC:
        return "UTC"
    for attribute in ("key", "zone", "name"):  # zoneinfo, pytz, pendulum
        name = getattr(zone, attribute, None)
        if isinstance(name, str) and name[:1].isalpha():
            return name
    offset = zone.utcoffset(None)
    hours, rest = divmod(offset.total_seconds(), 3600) if offset is not None else (0, 1)
    if rest:
        raise ValueError("a time zone with an IANA name, such as zoneinfo.ZoneInfo('Europe/Paris')")
    return "UTC" if hours == 0 else f"Etc/GMT{'-' if hours > 0 else '+'}{abs(int(hours))}"
