"""The Celery application that both sides share: which broker, and how messages are to be treated.

Celery carries attempts and nothing more: there is no result backend, since attempts report to the Execution API. A
message is acknowledged when its attempt is over, so one whose worker dies comes again; an attempt that is over or under
way elsewhere is refused at its start, so a message may come any number of times (cases C1, C2, C4).
"""

from __future__ import annotations

from typing import Any, Final

from celery import Celery

from treadle_executors.errors import ExecutorError
from treadle_metadata.settings import Settings

TASK: Final = "treadle.run_attempt"
END: Final = "treadle_end_attempt"
"""Name of the worker's remote control command that ends an attempt."""

VISIBILITY_SECONDS: Final = 6 * 3600
"""After this time an unacknowledged message comes again; harmless, so only rarely is it worth the work."""

_LONGEST_RETRY_PAUSE: Final = 5.0
_SECONDS_TO_CONNECT: Final = 5
_AMQP: Final = ("amqp", "amqps", "pyamqp")


def make_app(settings: Settings) -> Celery:
    """Return the application.

    Raises:
        ExecutorError: the setting ``broker_url`` is empty.
    """
    if not settings.broker_url:
        raise ExecutorError(
            "the executor celery needs the setting broker_url, such as redis://127.0.0.1:6379/0; "
            "set TREADLE_BROKER_URL or put it into treadle.toml"
        )
    app = Celery("treadle", broker=settings.broker_url, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_default_queue="default",
        task_create_missing_queues=True,
        task_send_sent_event=False,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=_SECONDS_TO_CONNECT,
        broker_transport_options=transport_options(settings.broker_url),
    )
    return app


def transport_options(url: str) -> dict[str, Any]:
    """Return what the client of a broker is told beside the address; it depends on the kind of broker.

    RabbitMQ confirms what it has only where it is asked to: a message that is thought to be published would else be
    lost with the connection, and be missed only a lease later.
    """
    retries = {"max_retries": 1, "interval_start": 0, "interval_max": _LONGEST_RETRY_PAUSE}
    if url.partition(":")[0].lower() in _AMQP:
        return {"confirm_publish": True, **retries}
    return {
        "visibility_timeout": VISIBILITY_SECONDS,
        "socket_keepalive": True,
        "socket_connect_timeout": _SECONDS_TO_CONNECT,
        "socket_timeout": 10,
        "health_check_interval": 10,
        **retries,
    }
