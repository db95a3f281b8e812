"""The environment that a runner host is exec'ed with: the user's variables, and nothing secret of ours.

Pure; called by the local executor and the DAG processor. Dropped are all settings of Treadle (except the home folder),
whatever libpq reads, and any variable, whatever its name, whose value holds one of our secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from treadle_metadata.settings import Settings

_KEPT: Final = frozenset({"TREADLE_HOME"})
VARIABLES: Final = "TREADLE_VAR_"
"""Begin of the environment variables that give the tasks' own variables."""

CONNECTIONS: Final = "TREADLE_CONN_"
"""Begin of those that give the tasks' own connections."""

_DROPPED_PREFIXES: Final = ("TREADLE_", "PG")
_ADDRESSES: Final = frozenset({"remote_logs"})
"""Secret settings that are the address of something which tasks may use too; only what is secret in it is sought."""

_SECRET_OPTIONS: Final = ("key", "secret", "token", "password", "credential", "connection_string", "sas")
LOGIN: Final = re.compile(r"^[^:/]*://(?:[^:/@]*(?::([^@]*))?@)?")
"""How a database's address begins, with the password by itself. As libpq and SQLAlchemy read it: with characters such
as # and [ in it, which ``urlsplit`` stumbles over."""

_SHORTEST_SECRET: Final = 6
"""Characters; a shorter one would be found in unrelated values by chance."""


def scrubbed(environ: Mapping[str, str], secrets: Iterable[str], *, kept: tuple[str, ...] = ()) -> dict[str, str]:
    """Return ``environ`` without our settings, libpq's variables and values that hold one of ``secrets``.

    Names that begin with one of ``kept`` stay: what tasks are meant to read is no secret of ours.
    """
    sought = [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]
    return {
        name: value
        for name, value in environ.items()
        if name in _KEPT
        or name.startswith(kept)
        or not (name.startswith(_DROPPED_PREFIXES) or any(secret in value for secret in sought))
    }


def secrets_of(settings: Settings) -> list[str]:
    """Return the values of the secret settings, and the passwords within addresses on their own."""
    secret = [one.name for one in fields(settings) if one.metadata.get("secret") and one.name not in _ADDRESSES]
    values = [str(getattr(settings, name)) for name in secret]
    found = [part for value in values for part in (value, *value.split(","))]
    password = LOGIN.match(settings.database_url)
    if password and password[1]:
        found += [password[1], unquote(password[1])]
    options = parse_qsl(urlsplit(settings.remote_logs).query)
    found += [value for name, value in options if any(part in name.lower() for part in _SECRET_OPTIONS)]
    return [value for value in found if value]
