"""Tries whether something listens at a connection's address: one TCP connection, closed at once, and nothing sent.

Called by ``POST /api/v2/connections/test``. No credential leaves this process, so a wrong host learns nothing; whether
the credentials are right only a task can tell, with the client library of the other system.
"""

from __future__ import annotations

import os
import socket
from typing import Final

from treadle_metadata.errors import shown

SECONDS: Final = 3.0
PORTS: Final = {
    "ftp": 21, "ssh": 22, "sftp": 22, "smtp": 25, "http": 80, "https": 443, "mssql": 1433, "oracle": 1521,
    "mysql": 3306, "postgres": 5432, "postgresql": 5432, "redis": 6379, "mongo": 27017,
}  # fmt: skip
"""Where systems usually listen, for connections that name no port."""


def try_connection(conn_type: str, host: str | None, port: int | None) -> tuple[bool, str]:
    """Return whether something listens at the address, and what was found, in words."""
    if not host:
        return True, "the fields are well formed; there is no host to try"
    wanted = port or PORTS.get(conn_type)
    if wanted is None:
        return False, f"connections of type {shown(conn_type)} have no usual port: name one to have it tried"
    try:
        socket.create_connection((host, wanted), timeout=SECONDS).close()
    except (OSError, UnicodeError) as error:
        return False, f"nothing answers at {shown(host)} port {wanted}: {_reason(error)}"
    return True, f"something listens at {shown(host)} port {wanted}; login and password were not tried"


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {SECONDS:g} s"
    if isinstance(error, socket.gaierror):
        return "the name has no address"
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it is no name of a host"
