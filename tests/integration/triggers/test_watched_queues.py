"""Queues that are watched: streams of Redis and notifications of PostgreSQL, with the real servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from tests.support.redis_server import RedisServer

from treadle.triggers import PostgresNotifyTrigger, RedisStreamTrigger, TriggerEvent
from treadle.triggers.asking import answer_with
from treadle_metadata.connection import Database


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.close()


@pytest.fixture
def known() -> Iterator[dict[str, Any]]:
    """The connections that triggers find."""
    connections: dict[str, Any] = {}

    async def answer(op: str, args: Mapping[str, Any]) -> Any:
        assert op == "get_connection"
        return connections[args["conn_id"]]

    answer_with(answer)
    yield connections
    answer_with(None)


def test_messages_of_a_stream_come_again_until_their_event_is_kept(known: dict[str, Any], redis: RedisServer) -> None:
    known["queue"] = {"conn_id": "queue", "conn_type": "redis", "host": "127.0.0.1", "port": redis.port}
    ids = [cast("bytes", redis.client.xadd("orders", {"order": number})).decode() for number in range(3)]

    async def taken(number: int) -> list[TriggerEvent]:
        """Take so many events; the last of them is not recorded before the trigger ends."""
        trigger = RedisStreamTrigger("queue", "orders")
        events = cast("AsyncGenerator[TriggerEvent, None]", trigger.run())
        async with asyncio.timeout(10):
            found = [await anext(events) for _ in range(number)]
        await events.aclose()
        await trigger.cleanup()
        return found

    first = asyncio.run(taken(2))
    assert [event.payload for event in first] == [
        {"stream": "orders", "id": ids[number], "fields": {"order": str(number)}} for number in range(2)
    ]
    assert [event.payload["id"] for event in asyncio.run(taken(2))] == ids[1:]


def test_notifications_of_a_channel_become_events(known: dict[str, Any], database: Database) -> None:
    url = urlsplit(database.url)
    known["pg"] = {
        "conn_id": "pg",
        "conn_type": "postgres",
        "host": (parse_qs(url.query).get("host") or [url.hostname or ""])[0],
        "port": url.port,
        "login": url.username,
        "password": url.password,
        "schema": url.path.lstrip("/"),
    }

    async def run() -> TriggerEvent:
        trigger = PostgresNotifyTrigger("pg", "orders; DROP")
        events = cast("AsyncGenerator[TriggerEvent, None]", trigger.run())
        following = asyncio.ensure_future(anext(events))
        with psycopg.connect(database._libpq_url, autocommit=True) as notifier:
            async with asyncio.timeout(10):
                while not following.done():  # what comes before it listens is lost
                    notifier.execute("SELECT pg_notify('orders; DROP', 'order 7')")
                    await asyncio.wait([following], timeout=0.05)
        event = await following
        await events.aclose()
        await trigger.cleanup()
        return event

    assert asyncio.run(run()).payload == {"channel": "orders; DROP", "payload": "order 7"}
