"""What a daemon started by itself needs first: settings, a database that is ready, and a place for its log lines."""

from __future__ import annotations

import logging
import sys
from typing import Any

from treadle_cli import edge
from treadle_cli.database import in_database
from treadle_cli.standalone import daemon_logs
from treadle_metadata import migration
from treadle_metadata.settings import Settings
from treadle_worker.system import hide_memory


def prepared(daemon: str, **overrides: Any) -> Settings:
    """Return the settings for ``daemon``, whose lines go to standard error from now on.

    Raises:
        CliError: the database cannot be reached.
        SchemaError: it has another schema than this Treadle needs.
    """
    in_database(migration.require_current)
    # Task code of the same user must not read the credentials from our memory or environment (design section 10).
    hide_memory()
    daemon_logs.to_terminal(daemon, sys.stderr, logging.INFO)
    return edge.settings(**overrides)
