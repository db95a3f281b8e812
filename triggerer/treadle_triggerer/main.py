"""Runs a triggerer in this process until SIGTERM or SIGINT. Called by ``__main__``.

That is what standalone and ``treadle triggerer`` execute: everything comes by the environment, and no credential but
the token is there.
"""

from __future__ import annotations

import logging
import os
import signal
from types import FrameType
from typing import Final

from treadle_triggerer.daemon import Config, Triggerer
from treadle_worker.system import hide_memory

TOKEN: Final = "TREADLE_TRIGGERER_TOKEN"
"""Environment variable of the token with which a triggerer proves itself."""

URL: Final = "TREADLE_EXECUTION_URL"
FOLDER: Final = "TREADLE_DAGS_FOLDER"
CAPACITY_GIVEN: Final = "TREADLE_TRIGGERER_CAPACITY"
CAPACITY: Final = 50_000
"""How much weight of triggers one triggerer takes, if nothing else is said: a few kilobytes of memory each."""

log = logging.getLogger(__name__)


def run(config: Config) -> None:
    """Run a triggerer until told to stop.

    Raises:
        ServerRefused: the token is no good, or this triggerer is too new for the server.
    """
    hide_memory()
    one = Triggerer(config)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        one.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    log.info("triggerer started for %s, capacity %d", config.url, config.capacity)
    one.run()


def from_environment() -> Config:
    """Return the configuration that the environment gives, and take the token out of it."""
    token = os.environ.pop(TOKEN)
    url = os.environ.pop(URL)
    folder = os.environ.pop(FOLDER)
    capacity = int(os.environ.pop(CAPACITY_GIVEN, CAPACITY))
    return Config(url, token, folder, capacity, dict(os.environ))
