"""Our own source, as the architecture tests look at it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMPONENTS = ("sdk", "metadata", "worker", "executors", "scheduler", "triggerer", "webserver", "cli")


@cache
def package_files() -> list[Path]:
    """Return all Python files of our packages."""
    return sorted(path for one in COMPONENTS for path in (ROOT / one).glob("treadle*/**/*.py"))


@cache
def all_files() -> list[Path]:
    """Return all Python files of the project."""
    others = [path for one in ("tests", "bench", "migrations", "dags") for path in (ROOT / one).glob("**/*.py")]
    return package_files() + sorted(others)


def module_of(path: Path) -> str:
    """Return the dotted name of one of our modules."""
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(part for part in parts if part != "__init__")


@cache
def texts(path: Path) -> list[tuple[int, str]]:
    """Return line and value of each text constant in a file, docstrings apart, with blanks made one space.

    The constant parts of an f-string are one text, with ``?`` for what is put in.
    """
    passed: set[ast.expr] = set()
    found = []
    nodes = list(ast.walk(ast.parse(path.read_text())))
    for node in nodes:
        if isinstance(node, ast.Expr):
            passed.add(node.value)
        if isinstance(node, ast.JoinedStr):
            passed |= set(node.values)
    for node in nodes:
        if node in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else "?" for one in node.values]
            found.append((node.lineno, " ".join("".join(map(str, parts)).split())))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((node.lineno, " ".join(node.value.split())))
    return found


def place(path: Path, line: int) -> str:
    """Return where something stands, for a message."""
    return f"{path.relative_to(ROOT)}:{line}"
