"""The folder in which a worker machine's runner host writes logs until the server has them.

Each worker process has one of its own. What a worker that was killed has left is removed by the next one: the tokens
that its rest could have been sent with died with it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from treadle_executors.held_folder import HeldFolder

_PREFIX: Final = "treadle-logs-"


class LogSpool(HeldFolder):
    """A folder below ``parent`` (by default the machine's folder for temporary files)."""

    def __init__(self, parent: Path | None = None) -> None:
        super().__init__(parent or Path(tempfile.gettempdir()), _PREFIX)
