"""The tables of ``tests/README.md`` name tests that exist."""

from __future__ import annotations

import re

from tests.support.code import ROOT

NAMED = re.compile(r"`([a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")


def test_each_test_that_the_tables_name_exists() -> None:
    rows = [line for line in (ROOT / "tests" / "README.md").read_text().splitlines() if line.startswith("| ")]
    named = [NAMED.findall(row) for row in rows if not row.startswith(("| case |", "| fault |", "| --- |"))]
    assert len(named) > 30
    assert all(named), "a row names no test"
    missing = [
        f"{file}::{name}"
        for row in named
        for file, name in row
        if f"def {name}(" not in (path.read_text() if (path := ROOT / "tests" / file).exists() else "")
    ]
    assert missing == []
