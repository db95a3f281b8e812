"""The triggerer of a standalone installation: this process becomes another program, which holds no credential.

Called as the other daemons are (``standalone.daemons``). What was forked knows the database's address; what is executed
in its place gets a token and an environment without our secrets.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from treadle_executors.environment import CONNECTIONS, VARIABLES, scrubbed, secrets_of
from treadle_metadata.clock import SystemClock
from treadle_metadata.settings import Settings
from treadle_metadata.triggerer_tokens import TriggererTokens
from treadle_triggerer.main import FOLDER, TOKEN, URL


def run(settings: Settings) -> NoReturn:
    """Become the triggerer."""
    environment = scrubbed(os.environ, secrets_of(settings), kept=(VARIABLES, CONNECTIONS))
    environment |= {
        TOKEN: TriggererTokens(settings.jwt_secret).issue(now=SystemClock().now()),
        URL: address_of(settings),
        FOLDER: str(settings.path("dags_folder")),
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
