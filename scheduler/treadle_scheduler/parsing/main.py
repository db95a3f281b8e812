"""The DAG processor daemon: registers in ``process``, runs a processor, and ends in order on SIGTERM or SIGINT.

When it is killed, its zygote notices the end of its socket and kills the parse children; its lease ends by itself, and
the next start parses what was not stored.
"""

from __future__ import annotations

import logging
import signal
from types import FrameType

from treadle_metadata import processes
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.parsing.processor import Processor
from treadle_worker.system import hide_memory

log = logging.getLogger(__name__)

KIND = "dag-processor"


def run(settings: Settings, *, clock: Clock | None = None) -> None:
    """Run a DAG processor until SIGTERM or SIGINT."""
    hide_memory()
    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    clock = clock or SystemClock()
    database = Database(
        settings.database_url, application_name="treadle dag-processor", idle_seconds=settings.lease_seconds
    )
    processor = Processor(database, clock, settings)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        processor.stop()

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, stop)
    with processes.Lease(database, KIND, clock, settings):
        log.info("DAG processor started, folder %s", settings.path("dags_folder"))
        processor.run()
    database.close()
