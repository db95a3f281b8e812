"""What the clients of the two kinds of broker are told, and that they understand it."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import replace

import pytest
from kombu.exceptions import ChannelError

from treadle_executors.celery.app import make_app
from treadle_metadata.settings import Settings

amqp = importlib.import_module("amqp")  # it has no types


@pytest.mark.parametrize("url", ["amqp://user:secret@127.0.0.1:5672//", "AMQPS://127.0.0.1", "pyamqp://127.0.0.1/x"])
def test_rabbitmq_is_asked_to_confirm_and_told_nothing_of_redis(settings: Settings, url: str) -> None:
    """Its server cannot be had in these tests, so what it depends on is asked of its client."""
    app = make_app(replace(settings, broker_url=url))
    options = app.conf.broker_transport_options
    assert options["confirm_publish"] is True
    assert not [name for name in options if name.startswith(("socket_", "visibility_", "health_"))]
    assert inspect.signature(amqp.Connection).parameters["confirm_publish"].default is False
    with app.connection_for_write() as connection:
        assert connection.transport.driver_type == "amqp"
        assert connection.transport_options["confirm_publish"] is True
        assert connection.connect_timeout == 5


def test_redis_gives_an_unacknowledged_message_out_again_only_after_hours(settings: Settings) -> None:
    app = make_app(replace(settings, broker_url="redis://127.0.0.1:1/0"))
    options = app.conf.broker_transport_options
    assert options["visibility_timeout"] >= 3600
    assert "confirm_publish" not in options


def test_a_queue_that_rabbitmq_does_not_know_is_the_error_that_means_so() -> None:
    """``Broker.lengths`` takes it for an empty queue."""
    assert issubclass(amqp.exceptions.NotFound, ChannelError)
