"""Why ``treadle standalone`` cannot start; each is one line for the user, with what to do next."""

from __future__ import annotations

from pathlib import Path

from treadle_metadata.errors import MetadataError


class StandaloneError(MetadataError):
    """``treadle standalone`` cannot start."""


class HomeInUseError(StandaloneError):
    """Another standalone runs on the same home."""

    def __init__(self, home: Path, pid: str) -> None:
        super().__init__(
            f"another `treadle standalone` (pid {pid}) runs on {home}; stop it, or set TREADLE_HOME to another folder"
        )


class HomeUnusableError(StandaloneError):
    """The home cannot be made or written."""

    def __init__(self, home: Path, why: str) -> None:
        super().__init__(f"the folder {home} cannot be used: {why}; set TREADLE_HOME to another")


class SecretsLostError(StandaloneError):
    """There are data, but their password is gone."""

    def __init__(self, secrets: Path, data: Path) -> None:
        super().__init__(
            f"{secrets} holds no database_url, the password of the data in {data}; restore it, or move the data away"
        )


class AddressInUseError(StandaloneError):
    """The web server's address cannot be bound."""

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"cannot listen on {host} port {port}: {why}; choose another: treadle standalone --port N")
