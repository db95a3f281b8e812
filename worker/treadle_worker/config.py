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
    tasks_per_child: int
    templates_per_host: int
    import_seconds: float
    grace_seconds: float
    renewal_seconds: float
    lease_seconds: float
    xcom_max_bytes: int

    def to_text(self) -> str:
        """Return the command-line argument that :meth:`from_text` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> HostConfig:
        """Read what :meth:`to_text` wrote."""
        return cls(**json.loads(text))
