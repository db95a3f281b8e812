"""What the Celery executor says to its broker: attempts to publish, attempts to end, and questions about queues.

Used by the executor's one thread that may wait for the broker. Whatever the broker's client raises comes out as
BrokerError, with one sentence for people that holds no password.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from kombu.exceptions import ChannelError
from kombu.utils.url import maybe_sanitize_url

from treadle_executors.celery.app import END, TASK, make_app
from treadle_executors.errors import BrokerError
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload

_NOT_FOUND: Final = "404"
_SECONDS_TO_ANSWER: Final = 1.0
"""How long workers are waited for that are asked for their queues."""


class Broker:
    """The broker that the setting ``broker_url`` names."""

    def __init__(self, settings: Settings) -> None:
        self._app = make_app(settings)
        self._address = maybe_sanitize_url(settings.broker_url)

    def publish(self, messages: Iterable[tuple[Workload, str]]) -> Iterator[Workload]:
        """Send attempts with their tokens, each to its queue, in order; yield each that the broker has."""
        with self._told(), self._app.producer_pool.acquire(block=True) as producer:
            for workload, token in messages:
                self._app.send_task(
                    TASK,
                    (workload, token),
                    task_id=workload["attempt_id"],
                    queue=workload["queue"],
                    producer=producer,
                    retry=False,
                    argsrepr="(the attempt and its token)",
                    kwargsrepr="{}",
                )
                yield workload

    def lengths(self, queues: Collection[str]) -> dict[str, int]:
        """Return how many messages wait in each queue; one that the broker does not know has none."""
        if not queues:
            return {}
        # Not a connection of the pool: kombu does not mend one that a broker's end has broken when it is only asked.
        with self._told(), self._app.connection_for_write() as connection:
            return {queue: _length(connection, queue) for queue in queues}

    def queues_with_workers(self) -> set[str]:
        """Return the queues from which at least one worker takes, as far as the workers answer within a second."""
        with self._told():
            answers = self._app.control.inspect(timeout=_SECONDS_TO_ANSWER).active_queues() or {}
        return {queue["name"] for queues in answers.values() for queue in queues}

    def answers(self, worker: str, seconds: float) -> bool:
        """Tell whether a worker answers within ``seconds``: it lives, and has its connection to the broker."""
        with self._told():
            return bool(self._app.control.ping(destination=[worker], timeout=seconds))

    def end_attempt(self, attempt_id: UUID, reason: str) -> None:
        """Tell all workers to end an attempt; whoever runs it does."""
        with self._told():
            self._app.control.broadcast(END, arguments={"attempt_id": str(attempt_id), "reason": reason})

    def close(self) -> None:
        """Release the connections."""
        self._app.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise BrokerError(self._address, error) from error


def _length(connection: Any, queue: str) -> int:
    try:
        # A channel of its own: a broker closes the one on which it was asked for an unknown queue.
        with connection.channel() as channel:
            return int(channel.queue_declare(queue=queue, passive=True).message_count)
    except ChannelError as error:
        # RabbitMQ refuses a password with one of these too.
        if str(error.reply_code) != _NOT_FOUND:
            raise
        return 0
