"""``treadle standalone`` as a program: its start, its refusals, its faults and its end. Daemons are pretended ones."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import wait_until

READY = "Ctrl-C stops it."


class Standalone:
    """A standalone that runs as a program of its own, in a session of its own as on a terminal."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.port = port
        self._output = (home.parent / f"output.{len(list(home.parent.glob('output.*')))}").open("w+")
        command = [sys.executable, "-m", "tests.support.pretended_daemons", str(home), str(port)]
        self.process = subprocess.Popen(
            command, stdout=self._output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )

    def output(self) -> str:
        return Path(self._output.name).read_text()

    def wait_for(self, words: str, times: int = 1) -> str:
        def is_there() -> bool:
            assert self.process.poll() is None or self.output().count(words) >= times, self.output()
            return self.output().count(words) >= times

        wait_until(is_there, timeout=30)
        return self.output()

    def pid_of(self, name: str) -> int:
        """Return the pid that a daemon noted when it last began."""
        return int((self.home / f"pid.{name}").read_text())

    def refusal(self) -> str:
        """Return the one line of a standalone that cannot start."""
        assert self.process.wait(timeout=30) == 1, self.output()
        self._output.close()
        assert self.output().count("\n") == 1, self.output()
        return self.output()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            # As a terminal does: to the whole process group.
            os.killpg(self.process.pid, how)
        code = self.process.wait(timeout=60)
        self._output.close()
        return code


@pytest.fixture
def port() -> int:
    """A port that nothing listens on."""
    return _free_port()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def used_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home after a first start; tests work on copies, which saves them a second each."""
    home = tmp_path_factory.mktemp("used") / "home"
    standalone = Standalone(home, _free_port())
    standalone.wait_for(READY)
    assert standalone.stop() == 0
    return home


@pytest.fixture
def begun(used_home: Path, tmp_path: Path, port: int) -> Iterator[Standalone]:
    """A standalone that is ready, on a home that was moved since its last start."""
    subprocess.run(["cp", "-a", used_home, tmp_path / "moved"], check=True)
    standalone = Standalone(tmp_path / "moved", port)
    try:
        standalone.wait_for(READY)
        yield standalone
    finally:
        standalone.stop()


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _below(pid: int) -> set[int]:
    children = {int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return children | {below for child in children for below in _below(child)}


def _postgres(home: Path) -> int:
    return int((home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])


def test_a_first_start_makes_secrets_and_an_account_and_ctrl_c_ends_everything(home: Path, port: int) -> None:
    standalone = Standalone(home, port)
    output = standalone.wait_for(READY)
    assert f"http://127.0.0.1:{port} (web pages; the REST API is at /api/v2)" in output
    assert f"DAGs folder: {home}/dags" in output
    password = re.search(r"Login: admin / (\S{16}) ", output)
    secrets = tomllib.loads((home / "secrets.toml").read_text())
    assert stat.S_IMODE((home / "secrets.toml").stat().st_mode) == 0o600
    assert set(secrets) == {"fernet_key", "jwt_secret", "database_url"}
    assert password is not None
    assert password[1] not in (home / "secrets.toml").read_text()
    below = _below(standalone.process.pid)
    assert len(below) > 4
    assert standalone.stop(signal.SIGINT) == 0
    assert not [pid for pid in below if _is_running(pid)]
    assert not (home / "postgres" / "data" / "postmaster.pid").exists()
    assert standalone.output().endswith("Stopping.\n")
    _start_again(home, port, secrets)


def _start_again(home: Path, port: int, secrets: dict[str, str]) -> None:
    standalone = Standalone(home, port)
    output = standalone.wait_for(READY)
    assert "Login: admin /" not in output
    assert tomllib.loads((home / "secrets.toml").read_text()) == secrets
    assert standalone.stop(signal.SIGHUP) == 0


def test_a_second_one_on_the_same_home_is_refused_in_one_line(begun: Standalone) -> None:
    second = Standalone(begun.home, begun.port + 1)
    assert f"another `treadle standalone` (pid {begun.process.pid}) runs on {begun.home}" in second.refusal()


def test_a_used_port_is_told_in_one_line_before_anything_starts(home: Path, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        refusal = Standalone(home, port).refusal()
    assert f"cannot listen on 127.0.0.1 port {port}: address already in use" in refusal
    assert not (home / "postgres").exists()


def test_a_killed_standalone_takes_everything_with_it_and_starts_again(begun: Standalone) -> None:
    below = _below(begun.process.pid)
    begun.process.kill()
    begun.process.wait()
    again = Standalone(begun.home, begun.port)
    again.wait_for(READY)
    assert not [pid for pid in below if _is_running(pid)]
    assert again.stop() == 0


def test_a_daemon_that_is_killed_starts_again_and_so_does_the_database(begun: Standalone) -> None:
    scheduler = begun.pid_of("scheduler")
    os.kill(scheduler, signal.SIGKILL)
    begun.wait_for("scheduler ended (SIGKILL); it is started again now")
    wait_until(lambda: begun.pid_of("scheduler") != scheduler)
    postgres = _postgres(begun.home)
    os.kill(postgres, signal.SIGKILL)
    begun.wait_for("postgres ended (SIGKILL); it is started again now")
    wait_until(
        lambda: (begun.home / "postgres" / "data" / "postmaster.pid").exists() and _postgres(begun.home) != postgres
    )
    assert begun.stop() == 0


def test_a_daemon_that_keeps_failing_is_started_later_and_later_with_its_traceback_in_its_file(
    begun: Standalone,
) -> None:
    (begun.home / "behave.scheduler").write_text("fail")
    os.kill(begun.pid_of("scheduler"), signal.SIGTERM)
    output = begun.wait_for("scheduler ended (exit code 1); it is started again in 2 s")
    assert "it is started again in 1 s" in output
    assert "Traceback" not in output
    assert "scheduler  CRITICAL  RuntimeError: told to fail" in output
    assert "Traceback" in (begun.home / "daemons" / "scheduler.log").read_text()
    assert begun.stop() == 0


def test_what_a_daemon_leaves_behind_is_killed_at_the_end(begun: Standalone) -> None:
    (begun.home / "behave.dag-processor").write_text("leave")
    os.kill(begun.pid_of("dag-processor"), signal.SIGKILL)
    note = begun.home / "left.pid"
    left = int(wait_until(lambda: note.read_text() if note.exists() else ""))
    assert _is_running(left)
    assert begun.stop() == 0
    assert not _is_running(left)


@pytest.mark.parametrize(
    ("damage", "words"),
    [("postgres/data/global/pg_control", "ended at once"), ("secrets.toml", "holds no database_url")],
)
def test_a_damaged_home_gives_one_line_and_exit_code_1_and_no_daemon_runs(
    begun: Standalone, damage: str, words: str
) -> None:
    assert begun.stop() == 0
    (begun.home / damage).write_text("")
    (begun.home / "pid.scheduler").unlink()
    assert words in Standalone(begun.home, begun.port).refusal()
    assert not (begun.home / "pid.scheduler").exists(), "a daemon ran without a database"


def test_a_home_that_is_a_file_gives_one_line(tmp_path: Path, port: int) -> None:
    (tmp_path / "file").write_text("")
    assert f"the folder {tmp_path}/file cannot be used" in Standalone(tmp_path / "file", port).refusal()


def test_no_secret_is_in_a_command_line(begun: Standalone) -> None:
    url = tomllib.loads((begun.home / "secrets.toml").read_text())["database_url"]
    password = url.split(":")[2].split("@")[0]
    for pid in _below(begun.process.pid):
        assert password not in Path(f"/proc/{pid}/cmdline").read_text()
