"""How a process becomes a triggerer, in a standalone installation and by command: a program without our secrets.

Called as the other daemons are (``standalone.daemons``), and by ``treadle triggerer``. Who calls may know the
database's address; what is executed in its place gets a token and a scrubbed environment.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from treadle_executors.environment import CONNECTIONS, VARIABLES, scrubbed, secrets_of
from treadle_metadata.clock import SystemClock
from treadle_metadata.settings import Settings
from treadle_metadata.triggerer_tokens import TriggererTokens
from treadle_triggerer import main


def run(settings: Settings) -> NoReturn:
    """Become the triggerer."""
    become(settings, TriggererTokens(settings.jwt_secret).issue(now=SystemClock().now()), main.CAPACITY)


def become(settings: Settings, token: str, capacity: int) -> NoReturn:
    """Become a triggerer with this token: nothing else that is secret is left in the process."""
    environment = scrubbed(os.environ, [*secrets_of(settings), token], kept=(VARIABLES, CONNECTIONS))
    environment |= {
        main.TOKEN: token,
        main.URL: address_of(settings),
        main.FOLDER: str(settings.path("dags_folder")),
        main.CAPACITY_GIVEN: str(capacity),
    }
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, "-P", "-m", "treadle_triggerer"], environment)


def address_of(settings: Settings) -> str:
    """Return where a triggerer on this machine finds the Execution API."""
    if settings.execution_url:
        return settings.execution_url
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
