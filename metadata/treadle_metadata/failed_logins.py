"""Slows down guessing of passwords: after some failures a name at an address has to wait, and then the address itself.

The web server's logins ask and tell; the failures are rows, so that the limits are those of the installation, however
many web servers it has, and a restart forgets nothing. Rows go with the next failure once their time is over. Of a name
only a hash is kept: people type passwords there by mistake.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from treadle_metadata.statements import execute, tuples

FAILURES: Final = 5
"""Failed logins of one name from one address within the window."""
FAILURES_OF_ADDRESS: Final = 50
WINDOW: Final = timedelta(seconds=60)
_LONGEST_ADDRESS: Final = 100

_NEWEST: Final = """
    SELECT failed_at, name = %(name)s FROM failed_login
    WHERE address = %(address)s AND failed_at > %(since)s ORDER BY failed_at DESC LIMIT %(most)s
"""
_NOTE: Final = "INSERT INTO failed_login (address, name, failed_at) VALUES (%(address)s, %(name)s, %(now)s)"
_FORGET_OLD: Final = "DELETE FROM failed_login WHERE failed_at <= %(since)s"
_FORGET: Final = "DELETE FROM failed_login WHERE address = %(address)s AND name = %(name)s"


def wait_seconds(connection: Connection, address: str, name: str, *, now: datetime) -> int:
    """Return how long a login has to wait before its next try; 0 when it may try now."""
    wanted = _key(address, name) | {"since": now - WINDOW, "most": FAILURES_OF_ADDRESS}
    found = tuples(connection, _NEWEST, wanted)
    return wait_of([at for at, is_of_name in found if is_of_name], [at for at, _ in found], now=now)


def wait_of(of_name: Sequence[datetime], of_address: Sequence[datetime], *, now: datetime) -> int:
    """Return the seconds to wait after failures, each given by the newest first: at least one, or none. Pure."""
    limits = ((of_name, FAILURES), (of_address, FAILURES_OF_ADDRESS))
    ends = [failed[most - 1] + WINDOW for failed, most in limits if len(failed) >= most]
    left = (max(ends) - now).total_seconds() if ends else 0
    return max(1, int(left)) if left > 0 else 0


def note(connection: Connection, address: str, name: str, *, now: datetime) -> None:
    """Count a failed login."""
    execute(connection, _FORGET_OLD, {"since": now - WINDOW})
    execute(connection, _NOTE, _key(address, name) | {"now": now})


def forget(connection: Connection, address: str, name: str) -> None:
    """Forget the failures of a name at an address, which has logged in."""
    execute(connection, _FORGET, _key(address, name))


def _key(address: str, name: str) -> dict[str, object]:
    return {
        "address": address[:_LONGEST_ADDRESS],
        "name": hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest(),
    }
