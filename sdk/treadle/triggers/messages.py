"""Triggers that watch queues: a stream of Redis, notifications of PostgreSQL. Made for watchers of assets.

A watcher goes on after an event only when the server has it, and takes its connection anew whenever it begins again:
a broker that restarts, or credentials that rotate, cost a pause (case A56).
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from typing import Any, Final

from treadle.connections import Connection
from treadle.errors import LibraryMissingError
from treadle.triggers import asking
from treadle.triggers.base import BaseEventTrigger, TriggerEvent

_BLOCK_MILLISECONDS: Final = 5_000
_IDLE_SECONDS: Final = 60.0


class RedisStreamTrigger(BaseEventTrigger):
    """Takes messages from a stream of Redis as a consumer group: none is lost, one may come twice after a crash.

    A message is acknowledged once its event is recorded. The event: ``stream``, ``id`` and ``fields``. Needs the
    package redis.
    """

    def __init__(
        self, conn_id: str, stream: str, *, group: str = "treadle", consumer: str = "treadle", start: str = "0"
    ) -> None:
        self.arguments: dict[str, Any] = {
            "conn_id": conn_id,
            "stream": stream,
            "group": group,
            "consumer": consumer,
            "start": start,
        }
        self._client: Any = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return "treadle.triggers.messages.RedisStreamTrigger", self.arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Take what was not acknowledged before, then what is new."""
        redis = _library("redis", "redis.asyncio", "trigger that reads a stream of Redis")
        self._client = redis.Redis(decode_responses=True, **redis_address(await asking.connection(self._of("conn_id"))))
        await self._make_group()
        last = "0"
        while True:
            found = await self._client.xreadgroup(
                self._of("group"),
                self._of("consumer"),
                {self._of("stream"): last},
                count=100,
                block=None if last != ">" else _BLOCK_MILLISECONDS,
            )
            messages = [one for _, several in found or () for one in several]
            if last != ">" and not messages:
                last = ">"
            for number, fields in messages:
                yield TriggerEvent({"stream": self._of("stream"), "id": number, "fields": dict(fields or {})})
                await self._client.xack(self._of("stream"), self._of("group"), number)

    def _of(self, name: str) -> str:
        return str(self.arguments[name])

    async def _make_group(self) -> None:
        try:
            await self._client.xgroup_create(self._of("stream"), self._of("group"), self._of("start"), mkstream=True)
        except Exception as error:
            if "BUSYGROUP" not in str(error):  # it is there already
                raise

    async def cleanup(self) -> None:
        """Close the connection."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()


class PostgresNotifyTrigger(BaseEventTrigger):
    """Listens to a channel of PostgreSQL. What is notified while nobody listens is lost, as PostgreSQL has it.

    The event: ``channel`` and ``payload``. Needs the package psycopg.
    """

    def __init__(self, conn_id: str, channel: str) -> None:
        self.conn_id = conn_id
        self.channel = channel
        self._database: Any = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return "treadle.triggers.messages.PostgresNotifyTrigger", {"conn_id": self.conn_id, "channel": self.channel}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Listen; the connection is looked at when it was quiet for a minute."""
        psycopg = _library("psycopg", "psycopg", "trigger that listens to PostgreSQL")
        named = await asking.connection(self.conn_id)
        where = {"host": named.host, "port": named.port, "user": named.login, "password": named.password}
        given = {**where, "dbname": named.schema, **named.extra_dejson}
        self._database = await psycopg.AsyncConnection.connect(
            **{name: value for name, value in given.items() if value}, autocommit=True
        )
        await self._database.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(self.channel)))
        while True:
            async for note in self._database.notifies(timeout=_IDLE_SECONDS):
                yield TriggerEvent({"channel": note.channel, "payload": note.payload})
            await self._database.execute("SELECT 1")

    async def cleanup(self) -> None:
        """Close the connection."""
        if self._database is not None:
            database, self._database = self._database, None
            await database.close()


def redis_address(named: Connection) -> dict[str, Any]:
    """Return the arguments of a client of Redis for a connection; its extra may have ``db`` and ``ssl``."""
    extra = named.extra_dejson
    given = {
        "host": named.host or "localhost",
        "port": named.port or 6379,
        "username": named.login,
        "password": named.password,
        "db": extra.get("db"),
        "ssl": extra.get("ssl"),
    }
    return {name: value for name, value in given.items() if value not in (None, "")}


def _library(name: str, module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise LibraryMissingError(name, what) from error
