"""What a runner host is told at its start: folders and limits. No credential, since it stands in the process table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HostConfig:
    """The configuration of a host; durations in seconds, folders absolute."""

    dags_folder: str
    logs_folder: str
    hostname: str
    tasks_per_child: int = 1
    templates_per_host: int = 64
    import_seconds: float = 30.0
    grace_seconds: float = 5.0
    renewal_seconds: float = 10.0
    lease_seconds: float = 30.0
    xcom_max_bytes: int = 16 * 1024 * 1024

    def to_text(self) -> str:
        """Return the command-line argument that :meth:`from_text` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> HostConfig:
        """Read what :meth:`to_text` wrote."""
        return cls(**json.loads(text))
