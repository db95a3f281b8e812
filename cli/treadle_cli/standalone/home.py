"""The home of a standalone installation: its folders, its lock and its secrets.

The lock is held until all daemons have ended, also when the main process was killed. The secrets are made at the first
start and replaced in one step, so a crash leaves either the old file or the new one.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from treadle_cli.standalone.errors import HomeInUseError, HomeUnusableError, SecretsLostError
from treadle_metadata.crypto import new_key
from treadle_metadata.embedded_postgres import PASSWORD_BYTES, EmbeddedPostgres, password_of
from treadle_metadata.settings import Settings

REMNANTS_SECONDS: Final = 20.0
"""How long the daemons of a killed standalone may take to end."""


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Make the home if need be and hold its lock.

    Raises:
        HomeInUseError: another standalone holds it.
        HomeUnusableError: the folder cannot be made or written.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(home / "standalone.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HomeUnusableError(home, error.strerror or str(error)) from error
    try:
        _take(lock, home)
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)


def _take(lock: int, home: Path) -> None:
    end = time.monotonic() + REMNANTS_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(lock, 20, 0).decode() or "unknown"
            # A dead holder was killed; its daemons are about to end.
            if Path(f"/proc/{pid}").exists() or time.monotonic() > end:
                raise HomeInUseError(home, pid) from None
            time.sleep(0.02)
        else:
            return


def make_folders(settings: Settings) -> None:
    """Make the folders of DAGs and logs.

    Raises:
        HomeUnusableError: one cannot be made.
    """
    for folder in (settings.path("dags_folder"), settings.path("logs_folder"), settings.home / "daemons"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HomeUnusableError(folder, error.strerror or str(error)) from error


def with_secrets(settings: Settings) -> tuple[Settings, EmbeddedPostgres | None]:
    """Return the settings with every secret, made and stored where missing, and the embedded server to start.

    A ``database_url`` that comes from elsewhere than ``secrets.toml`` is a server of the user's: none is started.

    Raises:
        SecretsLostError: there are data of an embedded server, but not their password.
        HomeUnusableError: the secrets cannot be written.
    """
    path = settings.home / "secrets.toml"
    stored = tomllib.loads(path.read_text()) if path.exists() else {}
    wanted = dict(stored)
    if not settings.fernet_key:
        wanted["fernet_key"] = new_key()
    if not settings.jwt_secret:
        wanted["jwt_secret"] = secrets.token_urlsafe(48)
    server = None
    if settings.database_url in ("", stored.get("database_url")):
        server = _server(settings, path)
        wanted["database_url"] = server.url()
    if wanted != stored:
        _store(path, wanted)
    return replace(settings, **wanted | _given(settings, server)), server


def _given(settings: Settings, server: EmbeddedPostgres | None) -> dict[str, str]:
    """Return the secrets that were set elsewhere, which win over the stored ones."""
    names = ("fernet_key", "jwt_secret") + (() if server else ("database_url",))
    return {name: getattr(settings, name) for name in names if getattr(settings, name)}


def _server(settings: Settings, path: Path) -> EmbeddedPostgres:
    folder = settings.home / "postgres"
    if settings.database_url:
        password = password_of(settings.database_url)
    elif (folder / "data").exists():
        raise SecretsLostError(path, folder / "data")
    else:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
    return EmbeddedPostgres(folder, password, binaries=settings.postgres_bin)


def _store(path: Path, content: dict[str, str]) -> None:
    lines = ["# Made by `treadle standalone`. Keep it: without it the data cannot be read.\n"]
    lines += [f"{name} = {json.dumps(value)}\n" for name, value in sorted(content.items())]
    new = path.with_suffix(".new")
    try:
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise HomeUnusableError(path.parent, error.strerror or str(error)) from error
