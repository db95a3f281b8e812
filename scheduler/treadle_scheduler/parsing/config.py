"""What the parse zygote and its children are told: folder and limits. No credential: it stands in the process table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from treadle.document import FORMAT
from treadle.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseConfig:
    """Where DAG files lie (absolute), and what one of them may take."""

    dags_folder: str
    timeout_seconds: float = 30.0
    memory_mb: int = 1024
    cron_style: str = "trigger"

    @property
    def parser(self) -> str:
        """What else a document depends on: another release, or reading of schedules, parses every file again."""
        return f"{__version__}/{FORMAT}/{self.cron_style}"

    def to_text(self) -> str:
        """Return the command-line argument that :meth:`from_text` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> ParseConfig:
        """Read what :meth:`to_text` wrote."""
        return cls(**json.loads(text))
