"""What user code can see of the installation, when its file is parsed and when its task runs (case F17).

The secrets of this installation have a mark, which the code looks for in its own memory, in every environment and
command line of the machine, and in the memory of the processes above it.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.installed import Installed, installation
from tests.support.waiting import wait_until

FERNET_KEY = urlsafe_b64encode(b"canary-fernet-key-of-32-bytes-!!").decode()
SECRETS = {
    "TREADLE_JWT_SECRET": "canary-0123456789-canary-0123456789",
    "TREADLE_FERNET_KEY": FERNET_KEY,
    "PGPASSWORD": "canary-9876543210",
}

# The expressions are written so that they do not match themselves.
PROBE = r"""
import glob, json, os, re, sys
from treadle import DAG, task

MARKS = re.compile(
    rb"c[a]nary-[0-9]{10}|Y2FuYXJ5[L]WZlcm5ldC|postgres(?:ql)?(?:[+]psycopg)?:/[/][a-z]+:[^@\s\x00]{8,}@"
)
LOGS = (".jsonl", "/daemons/scheduler.log")

def marks(content):
    return sorted({one.decode(errors="replace") for one in MARKS.findall(content)})

def memory(pid):
    found = set()
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as file:
            for line in maps:
                span, rights, *rest = line.split()
                start, end = (int(one, 16) for one in span.split("-"))
                if rights.startswith("rw") and "[v" not in line and end - start < 2**28:
                    try:
                        file.seek(start)
                        found |= set(marks(file.read(end - start)))
                    except (OSError, ValueError):
                        continue
    except OSError as error:
        return None
    return sorted(found)

def ancestors():
    pid = os.getpid()
    while pid not in (0, 1):
        yield pid
        if pid == STANDALONE:
            return
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])

def probe(name):
    remembered = {pid: memory(pid) for pid in ancestors()}
    seen = {}
    for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                found = marks(file.read())
        except OSError:
            continue
        if found:
            seen[path] = found
    descriptors = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            descriptors[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
    facts = {
        "environ": [key for key, value in os.environ.items() if marks(value.encode()) or key == "TREADLE_DATABASE_URL"],
        "processes": seen,
        "memory": remembered,
        "files": [one for one in descriptors.values() if HOME in one and not one.endswith(LOGS)],
        "modules": [one for one in sys.modules if one.split(".")[0] in ("sqlalchemy", "psycopg", "treadle_metadata")],
        "mine": os.environ.get("OF_THE_USER"),
        "pid": os.getpid(),
    }
    unfinished = f"{FOLDER}/{name}.{os.getpid()}.new"
    with open(unfinished, "w") as file:
        json.dump(facts, file)
    os.rename(unfinished, f"{FOLDER}/{name}.{os.getpid()}.json")

probe("import")

with DAG("spy"):

    @task
    def look():
        probe("task")

    look()
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installed, Path]]:
    """An installation whose secrets are marked, and the folder into which the spy writes what it saw."""
    folder = tmp_path_factory.mktemp("seen")
    home = tmp_path_factory.mktemp("guarded") / "home"
    with installation(home, {}, **SECRETS, OF_THE_USER="visible") as one:
        known = f"STANDALONE, HOME, FOLDER = {one.process.pid}, {str(home)!r}, {str(folder)!r}\n"
        one.add("spy.py", known + PROBE)
        one.succeeds("spy")
        yield one, folder


@pytest.mark.parametrize("moment", ["import", "task"])
def test_user_code_finds_no_secret(guarded: tuple[Installed, Path], moment: str) -> None:
    _, folder = guarded
    seen: list[dict[str, Any]] = [json.loads(path.read_text()) for path in folder.glob(f"{moment}.*.json")]
    assert seen, "the spy did not run"
    for facts in seen:
        assert facts["environ"] == []
        assert facts["processes"] == {}
        assert facts["files"] == []
        assert facts["modules"] == []
        assert facts["mine"] == "visible"
        assert len(facts["memory"]) >= 3, "the spy did not find the processes above it"
        assert not [found for found in facts["memory"].values() if found]


def test_the_marks_would_have_been_found_and_the_memory_of_daemons_is_closed(
    guarded: tuple[Installed, Path], tmp_path: Path
) -> None:
    one, folder = guarded
    (facts,) = [json.loads(path.read_text()) for path in folder.glob("task.*.json")]
    assert facts["memory"][str(one.process.pid)] is None, "the memory of standalone can be read"
    namespace: dict[str, Any] = {}
    exec(PROBE[: PROBE.index("def memory")].replace("from treadle import DAG, task", ""), namespace)
    for secret in (*SECRETS.values(), one.database.url):
        assert namespace["marks"](secret.encode()), secret


def test_no_log_of_tasks_or_daemons_and_no_row_holds_a_secret(guarded: tuple[Installed, Path]) -> None:
    one, _ = guarded
    password = one.database.url.split(":")[2].split("@")[0]
    files = [path for folder in ("logs", "daemons") for path in (one.home / folder).rglob("*") if path.is_file()]
    assert files
    for path in files:
        text = path.read_text(errors="replace")
        assert not [secret for secret in (*SECRETS.values(), password) if secret in text], path
    wait_until(one.is_healthy)
