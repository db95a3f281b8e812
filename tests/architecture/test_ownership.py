"""Who may write what: the claims and the state columns have their modules, named in the page on internals."""

from __future__ import annotations

import re

from tests.support import code

INTERNALS = code.ROOT / "docs" / "explanation" / "internals.md"
STATE_UPDATE = re.compile(
    r"UPDATE (?:ONLY )?(?:dag_run|task_instance)\b.*?\bSET (?P<set>.*?)(?: FROM | WHERE | RETURNING |$)", re.IGNORECASE
)
STATE_SET = re.compile(r"(?:^|[\s,(])state(?:\s*=|\s*,|\s*\))", re.IGNORECASE)
INSERT = re.compile(r"INSERT INTO (?:dag_run|task_instance)\b", re.IGNORECASE)
CORE = re.compile(r"\b(?:update|insert)\((?:tables\.)?(?:dag_run|task_instance)\)")


def _state_writers() -> tuple[str, ...]:
    """Return the modules that the page lists as writers of the state columns."""
    row = next(line for line in INTERNALS.read_text().splitlines() if "the state columns of" in line)
    names = re.findall(r"`([\w.]+)`", row.split("|")[1])
    return tuple(f"treadle_metadata{name}" if name.startswith(".") else name for name in names)


def writes_state(sql: str) -> bool:
    """Tell whether a statement makes a run or an instance, or sets the state of one."""
    return bool(INSERT.search(sql)) or any(STATE_SET.search(found["set"]) for found in STATE_UPDATE.finditer(sql))


def test_state_writes_are_recognised() -> None:
    assert writes_state("UPDATE task_instance SET state = 'failed' WHERE id = 1")
    assert writes_state("WITH x AS (SELECT 1) UPDATE dag_run AS run SET ended_at = now(), state = x.state FROM x")
    assert writes_state("INSERT INTO dag_run (dag_id) VALUES ('x')")
    assert not writes_state("UPDATE task_instance SET note = 'x' WHERE state = 'failed'")
    assert not writes_state("SELECT state FROM dag_run")


def test_state_columns_are_written_only_by_the_modules_that_the_page_lists() -> None:
    allowed = _state_writers()
    assert "treadle_metadata.transitions" in allowed
    found = []
    for path in code.package_files():
        module = code.module_of(path)
        if any(module == name or module.startswith(f"{name}.") for name in allowed):
            continue
        found += [code.place(path, line) for line, text in code.texts(path) if writes_state(text)]
        if CORE.search(path.read_text()):
            found.append(code.place(path, 0))
    assert found == []


def test_rows_are_claimed_only_in_claims() -> None:
    found = [
        code.place(path, line)
        for path in code.package_files()
        if path.name != "claims.py"
        for line, text in code.texts(path)
        if "skip locked" in text.lower()
    ]
    found += [
        code.place(path, 0)
        for path in code.package_files()
        if path.name != "claims.py" and "skip_locked=" in path.read_text()
    ]
    assert found == []


def test_claims_do_skip_locked_rows() -> None:
    claims = code.ROOT / "metadata" / "treadle_metadata" / "claims.py"
    assert "SKIP LOCKED" in claims.read_text()


def test_queries_only_read() -> None:
    folder = code.ROOT / "metadata" / "treadle_metadata" / "queries"
    writing = re.compile(r"^(?:WITH .*)?\b(INSERT INTO|UPDATE \w+ .*SET|DELETE FROM)\b")
    found = [
        code.place(path, line)
        for path in folder.glob("**/*.py")
        for line, text in code.texts(path)
        if writing.search(text)
    ]
    assert found == []
