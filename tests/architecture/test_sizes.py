"""Limits that keep the code readable: files, functions, the loop, and nothing left to do."""

from __future__ import annotations

import ast
import re

from tests.support import code

LONGEST_FILE = 400
LONGEST_FUNCTION = 50
LONGEST_LOOP = 120


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in code.all_files()}
    assert [code.place(path, length) for path, length in lengths.items() if length > LONGEST_FILE] == []


def test_no_function_is_longer_than_50_lines() -> None:
    found = [
        f"{code.place(path, node.lineno)} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path in code.package_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= LONGEST_FUNCTION
    ]
    assert found == []


def test_the_scheduler_loop_fits_on_one_screen() -> None:
    loop = code.ROOT / "scheduler" / "treadle_scheduler" / "loop.py"
    assert len(loop.read_text().splitlines()) <= LONGEST_LOOP


def test_nothing_is_left_to_do() -> None:
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
    found = [
        code.place(path, number)
        for path in code.all_files()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if marks.search(line)
    ]
    assert found == []


def test_no_module_is_named_for_nothing() -> None:
    vague = {"utils", "util", "common", "helpers", "helper", "shared", "misc"}
    assert [
        str(path.relative_to(code.ROOT)) for path in code.all_files() if vague & {path.stem, path.parent.name}
    ] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(code.ROOT))
        for path in code.all_files()
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []
