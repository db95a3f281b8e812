"""A trigger that asks a database again and again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from treadle.connections import Connection
from treadle.databases import Parameters, opened
from treadle.triggers import asking
from treadle.triggers.base import BaseTrigger, TriggerEvent
from treadle.triggers.polling import pause, seconds_of


class SqlTrigger(BaseTrigger):
    """Waits until the first value of the first row of ``sql`` is true: not NULL, 0, an empty text or ``"0"``.

    ``parameters`` fill the driver's placeholders. The event is the first row, as a list.
    """

    def __init__(self, conn_id: str, sql: str, *, parameters: Parameters = None, poke_interval: float = 30.0) -> None:
        self.conn_id = conn_id
        self.sql = sql
        self.parameters = parameters
        self.poke_interval = seconds_of(poke_interval)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        given = self.parameters
        plain = dict(given) if isinstance(given, Mapping) else list(given) if isinstance(given, Sequence) else None
        kwargs = {"conn_id": self.conn_id, "sql": self.sql, "parameters": plain, "poke_interval": self.poke_interval}
        return "treadle.triggers.sql.SqlTrigger", kwargs

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask, in a thread, until the value is true."""
        while True:
            row = await asyncio.to_thread(self._first_row, await asking.connection(self.conn_id))
            if row and row[0] not in (None, 0, "", "0"):
                yield TriggerEvent(list(row))
                return
            await pause(self.poke_interval)

    def _first_row(self, named: Connection) -> tuple[Any, ...] | None:
        with closing(opened(named)) as database:
            cursor = database.execute(self.sql, self.parameters) if self.parameters else database.execute(self.sql)
            row = cursor.fetchone() if cursor.description else None
            database.commit()
        return row
