"""Daemons for the tests of ``treadle standalone``: they log, listen and die on demand, and import nothing of ours.

``python -m tests.support.pretended_daemons HOME PORT`` runs a standalone with them and a real database. The file
``HOME/behave.NAME`` tells a daemon to do something else than waiting for a signal.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from treadle_cli.standalone import daemons, main
from treadle_metadata import settings as settings_module
from treadle_metadata.errors import MetadataError
from treadle_metadata.settings import Settings


def behave(name: str, settings: Settings) -> None:
    """Be the daemon ``name``."""
    wish = settings.home / f"behave.{name}"
    told = wish.read_text() if wish.exists() else ""
    logging.getLogger(name).info("started")
    note = settings.home / f"{name}.new"
    note.write_text(str(os.getpid()))
    note.rename(settings.home / f"pid.{name}")
    if told == "fail":
        raise RuntimeError("told to fail")
    if told == "leave":
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        (settings.home / "left.pid").write_text(str(child.pid))
    if name == "webserver":
        with socket.create_server((settings.host, settings.port), backlog=5):
            signal.pause()
    while True:
        signal.pause()


def _module(name: str) -> str:
    module = ModuleType(f"pretended_{name.replace('-', '_')}")
    module.run = lambda settings: behave(name, settings)  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    return module.__name__


if __name__ == "__main__":
    daemons.DAEMONS = tuple(  # type: ignore[misc]
        daemons.Daemon(name, _module(name)) for name in ("webserver", "dag-processor", "scheduler")
    )
    try:
        main.run(settings_module.load(os.environ, home=Path(sys.argv[1])), "127.0.0.1", int(sys.argv[2]))
    except MetadataError as error:
        sys.exit(str(error))
