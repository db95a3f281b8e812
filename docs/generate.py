"""Writes the reference pages that are made from the code: ``python docs/generate.py``, or ``--check`` to compare.

Run by whoever changes a command, a setting, a route, a state or a public name; a test runs the check. Needs neither
server nor database. A crash leaves pages half renewed; run it again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parent
# Run as a program, Python looks for modules beside this file and not in its parent.
sys.path.insert(0, str(DOCS.parent))

from docs.pages import cli, rest_api, rights, sdk, settings, states, ui_api  # noqa: E402

from treadle import trigger_rules  # noqa: E402

NOTICE: Final = "<!-- Made by `python docs/generate.py`; a test compares. Do not edit by hand. -->"

PAGES: Final[dict[str, Callable[[], str]]] = {
    "cli": cli.page,
    "settings": settings.page,
    "sdk": sdk.page,
    "states": states.page,
    "rights": rights.page,
    "rest-api": rest_api.page,
    "ui-api": ui_api.page,
}

OPENAPI: Final = DOCS.parent / "webserver" / "ui" / "openapi.json"
"""The document that the UI's API client is made from when the UI is built, which happens without Python."""


def text_of(name: str) -> str:
    """Return the text of a generated page, by its name in ``docs/reference``."""
    if name == "trigger-rules":
        return trigger_rules.truth_table()
    if name == OPENAPI.name:
        return json.dumps(rest_api.openapi(), indent=1, sort_keys=True) + "\n"
    title, rest = PAGES[name]().split("\n", 1)
    return f"{title}\n\n{NOTICE}\n{rest.rstrip()}\n"


def file_of(name: str) -> Path:
    """Return the file of a generated page."""
    return OPENAPI if name == OPENAPI.name else DOCS / "reference" / f"{name}.md"


def stale() -> list[str]:
    """Return the names of the pages whose files differ from what the code says."""
    return [name for name in names() if not file_of(name).exists() or file_of(name).read_text() != text_of(name)]


def names() -> list[str]:
    """Return the names of all generated pages."""
    return [*PAGES, "trigger-rules", OPENAPI.name]


def main(arguments: list[str]) -> int:
    """Write the pages that differ, or with ``--check`` only name them and return 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is out of date")
    check = parser.parse_args(arguments).check
    different = stale()
    for name in different:
        if not check:
            file_of(name).write_text(text_of(name))
        print(f"{file_of(name).relative_to(DOCS.parent)} {'is out of date' if check else 'is written'}")
    if check and different:
        print("run: python docs/generate.py", file=sys.stderr)
    return 1 if check and different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
