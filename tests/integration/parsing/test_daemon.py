"""The daemon as a process of its own: what user code can see of it, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.support.parsing import Parsed, dag_text
from tests.support.waiting import wait_until

from treadle_worker.system import children_of

RUN = "from treadle_metadata import settings; from treadle_scheduler.parsing.main import run; run(settings.load())"
START_SECONDS = 60.0
"""For a daemon and its child to start: a second of processor time, and ten and more on a machine with other work."""
CANARY = "canary-0123456789-canary-0123456789"

SPY = """
import os, glob
from treadle import DAG

seen = {}
for path in ["/proc/self/environ", *glob.glob("/proc/[0-9]*/environ"), *glob.glob("/proc/[0-9]*/cmdline")]:
    try:
        with open(path, "rb") as file:
            seen[path] = file.read()
    except OSError:
        continue
leaks = [path for path, content in seen.items() if b"canary-" in content]
leaks += [name for name, value in os.environ.items() if "canary-" in value or name.startswith("TREADLE_DATABASE")]
for pid in (os.getppid(), DAEMON):
    try:
        open(f"/proc/{pid}/mem", "rb").close()
        if pid == DAEMON:
            leaks.append(f"memory of {pid}")
    except OSError:
        pass
import sys
leaks += [name for name in sys.modules if name.startswith(("sqlalchemy", "psycopg", "treadle_metadata"))]
spy = DAG("spy", description="leaks: " + ", ".join(leaks))
"""


@contextmanager
def daemon(parsed: Parsed) -> Iterator[subprocess.Popen[bytes]]:
    """Run the daemon with secrets in its environment."""
    environ = {
        "PATH": os.environ["PATH"],
        "TREADLE_HOME": str(parsed.settings.home),
        "TREADLE_DATABASE_URL": parsed.database.url,
        "TREADLE_JWT_SECRET": CANARY,
        "PGPASSWORD": CANARY,
        "OTHER_NAME_OF_IT": f"postgresql://user:{CANARY}@host/db",
        "MINE": "of the user",
    }
    process = subprocess.Popen([sys.executable, "-c", RUN], env=environ)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _zygote_of(process: subprocess.Popen[bytes]) -> int:
    (zygote,) = wait_until(lambda: children_of(process.pid), START_SECONDS)
    return zygote


def _parsing_below(daemon: int) -> tuple[int, int] | None:
    """Return a zygote of the daemon and the child in which it reads a file."""
    return next(((zygote, child) for zygote in children_of(daemon) for child in children_of(zygote)), None)


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def test_user_code_finds_no_credential_at_parse_time(parsed: Parsed) -> None:
    """Case F17."""
    with daemon(parsed) as process:
        text = SPY.replace("DAEMON", str(process.pid))
        parsed.write("spy.py", text)
        row = wait_until(lambda: parsed.dag("spy") or parsed.error("spy.py"))
        assert row.get("description") == "leaks: ", row


def test_variables_of_the_user_reach_the_file(parsed: Parsed) -> None:
    parsed.write("a.py", "import os\nfrom treadle import DAG\nx = DAG('a', description=os.environ['MINE'])\n")
    with daemon(parsed):
        parsed.wait_for_dag("a", description="of the user")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_daemon_in_order_in_the_middle_of_a_parse(parsed: Parsed, number: signal.Signals) -> None:
    mark = parsed.folder / "begun"
    parsed.write(
        "slow.py",
        f"import time, pathlib\nfrom treadle import DAG\npathlib.Path({str(mark)!r}).touch()\ntime.sleep(60)\n",
    )
    with daemon(parsed) as process:
        zygote = _zygote_of(process)
        wait_until(mark.exists, START_SECONDS)
        (child,) = children_of(zygote)
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
        assert not _is_running(zygote)
        assert not _is_running(child)
    (row,) = parsed.select("SELECT kind, stopped_at FROM process")
    assert row["kind"] == "dag-processor"
    assert row["stopped_at"] is not None


def test_a_killed_daemon_leaves_no_process_and_the_next_one_goes_on(parsed: Parsed) -> None:
    go_on = parsed.settings.home / "go_on"
    text = (
        f"import time, pathlib\nfrom treadle import DAG\nif not pathlib.Path({str(go_on)!r}).exists():\n"
        "    time.sleep(60)\nx = DAG('late')\n"
    )
    parsed.write("slow.py", text)
    with daemon(parsed) as process:
        # Whichever zygote it is by now: one that had no processor time to start may have been replaced.
        zygote, child = wait_until(lambda: _parsing_below(process.pid), START_SECONDS)
        process.kill()
        process.wait()
        wait_until(lambda: not _is_running(zygote) and not _is_running(child))
    go_on.touch()
    parsed.write("b.py", dag_text("b"))
    with daemon(parsed) as next_one:
        wait_until(lambda: next_one.poll() is not None or (parsed.dag("late") and parsed.dag("b")), START_SECONDS)
        assert next_one.poll() is None


def test_the_daemon_waits_for_a_database_that_is_away(parsed: Parsed) -> None:
    """All connections are cut while it stores; it connects again and stores what it has."""
    with daemon(parsed):
        parsed.write("a.py", dag_text("a"))
        parsed.wait_for_dag("a")
        with parsed.database.begin() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'treadle dag-processor'"
            )
        parsed.write("a.py", dag_text("a", "description='new'"))
        parsed.wait_for_dag("a", description="new")
