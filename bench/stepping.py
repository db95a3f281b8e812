"""A scheduler whose clock can be set: ``python -m bench.stepping FILE``, where FILE holds the seconds that it is off.

Started by ``bench.cluster`` in place of ``treadle scheduler``, and the same otherwise: nobody may set the machine's own
clock, which belongs to others too. All that reads the time in that process reads it from here.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from treadle_cli.commands.daemons.starting import prepared
from treadle_metadata.clock import SystemClock
from treadle_scheduler import main as scheduler


def run(path: Path) -> None:
    """Run a scheduler until SIGTERM, with the clock that ``path`` says."""

    def now(_clock: SystemClock) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=float(path.read_text()))

    # In place of what is there: executors and leases make clocks of their own.
    SystemClock.now = now  # type: ignore[method-assign, assignment]
    scheduler.run(prepared("scheduler"))


if __name__ == "__main__":
    run(Path(sys.argv[1]))
