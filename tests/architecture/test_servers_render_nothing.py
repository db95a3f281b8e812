"""Texts of users and of rows are data to our servers and pages, never templates or markup (cases F5, F6, F16)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support import code

RENDERING = {"sdk/treadle/runtime/jinja_engine.py"}
"""The one module that loads jinja2."""
RUNS_TASKS = ("sdk/", "worker/", "executors/treadle_executors/single/")
"""Whatever renders runs a task, in the task's own process."""
ENGINE = ("treadle.runtime.rendering", "treadle.runtime.jinja_engine")
MARKUP = re.compile(
    r"dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function\(",
    re.IGNORECASE,
)
ATTRIBUTE = re.compile(r"\s(href|src|action)=[\"{]")
OWN_ADDRESS = re.compile(r'(href|src|action)=("|\{(BASE \+|`\$\{BASE\}/|downloadOf\(|providerAddress\(|link\.url\}))')
"""What we make, and ``link.url``: links of operators, of which the server gives out those of http and https alone."""
MARKDOWN = "webserver/ui/src/components/markdown_rendered.tsx"
"""Its library passes on no address but those of harmless kinds, which a Vitest test next to it sees."""


def _imports(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # importlib.import_module("...")


def test_only_the_process_of_a_task_can_render_a_template() -> None:
    found: dict[str, set[str]] = {"jinja2": set(), "engine": set()}
    for path in code.package_files():
        place = path.relative_to(code.ROOT).as_posix()
        text = path.read_text()
        names = set(_imports(text)) if re.search("jinja|templating|rendering", text) else set()
        if any(name == "jinja2" or name.startswith(("jinja2.", "starlette.templating")) for name in names):
            found["jinja2"].add(place)
        if names & set(ENGINE):
            found["engine"].add(place)
    assert found["jinja2"] == RENDERING
    assert {place for place in found["engine"] if not place.startswith(RUNS_TASKS)} == set()
    assert found["engine"], "the engine has another name by now"


def test_the_pages_make_no_markup_and_no_addresses_of_texts() -> None:
    sources = sorted((code.ROOT / "webserver/ui/src").rglob("*.ts*"))
    assert len(sources) > 50
    wrong = []
    for path in sources:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            is_ours = OWN_ADDRESS.search(line) or path == code.ROOT / MARKDOWN
            is_address = ATTRIBUTE.search(line) and not is_ours
            if (is_address or MARKUP.search(line)) and ".test." not in path.name:
                wrong.append(f"{code.place(path, number)}: {line.strip()}")
    assert wrong == []
