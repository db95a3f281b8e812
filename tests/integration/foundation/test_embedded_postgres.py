"""The embedded server: its life, its refusals, and what it leaves behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.support import wait_until

from treadle_metadata import unprivileged
from treadle_metadata.embedded_postgres import EmbeddedPostgres, PostgresError, password_of

PASSWORD = "p%ss / w@rd"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a server that was initialised and stopped; tests work on copies."""
    folder = tmp_path_factory.mktemp("pristine") / "postgres"
    with EmbeddedPostgres(folder, PASSWORD, durable=False):
        pass
    return folder


@pytest.fixture
def server(pristine: Path, tmp_path: Path) -> Iterator[EmbeddedPostgres]:
    """A server that is not started, on data of its own."""
    subprocess.run(["cp", "-a", pristine, tmp_path / "postgres"], check=True)
    server = EmbeddedPostgres(tmp_path / "postgres", PASSWORD, durable=False)
    yield server
    server.stop()


def _one(server: EmbeddedPostgres) -> object:
    with psycopg.connect(server.url()) as connection:
        found = connection.execute("SELECT current_database() || ' ' || current_user").fetchone()
        return found and found[0]


def test_it_starts_answers_and_stops_without_a_lock_file(server: EmbeddedPostgres) -> None:
    server.start()
    assert _one(server) == "treadle treadle"
    pid = server.pid
    assert pid is not None
    server.stop()
    assert server.pid is None
    assert not Path(f"/proc/{pid}").exists()
    assert not (server.data / "postmaster.pid").exists()


def test_it_listens_on_no_tcp_port_and_its_folders_are_private(server: EmbeddedPostgres) -> None:
    server.start()
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
    for folder in (server.folder, server.socket, server.data):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_wrong_password_is_refused(server: EmbeddedPostgres) -> None:
    server.start()
    wrong = EmbeddedPostgres(server.folder, "wrong")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        _one(wrong)


def test_the_url_gives_its_password_back() -> None:
    assert password_of(EmbeddedPostgres(Path("/x"), PASSWORD).url()) == PASSWORD


def test_a_second_server_on_the_same_data_is_refused_in_one_line(server: EmbeddedPostgres) -> None:
    server.start()
    with pytest.raises(PostgresError, match=rf"another PostgreSQL server \(pid {server.pid}\) uses .*data") as caught:
        EmbeddedPostgres(server.folder, PASSWORD).start()
    assert "\n" not in str(caught.value)
    assert _one(server)


def test_after_a_kill_it_recovers_what_was_committed(server: EmbeddedPostgres) -> None:
    server.start()
    with psycopg.connect(server.url()) as connection:
        connection.execute("SET synchronous_commit = on")
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: server.pid is None)
    assert server.restart() == server.pid
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_lock_file_whose_pid_is_another_program_does_not_stop_it(server: EmbeddedPostgres) -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        try:
            lock = server.data / "postmaster.pid"
            lock.write_text(f"{other.pid}\n{server.data}\n1\n5432\n{server.socket}\n\n0 0\nready\n")
            unprivileged.own(lock, unprivileged.account())
            server.start()
            assert _one(server)
        finally:
            other.kill()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: (data / "PG_VERSION").unlink(), "holds no PG_VERSION"),
        (lambda data: (data / "global" / "pg_control").write_bytes(b"\0" * 8192), "FATAL"),
        (lambda data: shutil.rmtree(data / "base"), "base"),
    ],
)
def test_damaged_data_give_one_line_with_the_last_words_of_postgres(
    server: EmbeddedPostgres, damage: object, words: str
) -> None:
    assert callable(damage)
    damage(server.data)
    with pytest.raises(PostgresError, match=words) as caught:
        server.start()
    assert "\n" not in str(caught.value)
    assert server.pid is None


def test_a_password_that_the_data_do_not_know_is_told_and_the_server_stopped(server: EmbeddedPostgres) -> None:
    other = EmbeddedPostgres(server.folder, "other", durable=False)
    with pytest.raises(PostgresError, match=r"cannot be used: .*password authentication failed"):
        other.start()
    assert not (server.data / "postmaster.pid").exists()


def test_missing_binaries_are_named(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "postgres", PASSWORD, binaries=str(tmp_path))
    with pytest.raises(PostgresError, match=r"initdb does not exist; set postgres_bin"):
        server.start()


def test_a_cut_off_initialisation_is_begun_anew(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"
    (folder / "data.unfinished" / "base").mkdir(parents=True)
    with EmbeddedPostgres(folder, PASSWORD, durable=False) as server:
        assert _one(server)
    assert not (folder / "data.unfinished").exists()


def test_a_folder_with_a_long_name_gets_its_socket_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    with EmbeddedPostgres(folder, PASSWORD, durable=False) as server:
        assert folder not in server.socket.parents
        assert _one(server)
    assert not server.socket.exists()


def test_it_ends_when_its_parent_is_killed_and_the_next_start_waits_for_that(server: EmbeddedPostgres) -> None:
    script = f"""
import sys
from pathlib import Path
from treadle_metadata.embedded_postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path({str(server.folder)!r}), {PASSWORD!r}, durable=False)
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    server.start()
    assert _one(server)
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/status").read_text().split("State:")[1][:4]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives up privileges")
def test_as_root_it_runs_as_another_user_even_below_a_folder_of_roots_own(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with EmbeddedPostgres(closed / "postgres", PASSWORD, durable=False) as server:
        assert _one(server)
        status = Path(f"/proc/{server.pid}/status").read_text()
    account = unprivileged.account()
    assert account is not None
    assert f"Uid:\t{account.uid}\t{account.uid}\t{account.uid}\t{account.uid}" in status
    held = int(status.split("CapPrm:\t")[1].split()[0], 16)
    assert held.bit_count() == 1
