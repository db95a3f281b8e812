"""The dependencies: those of pyproject.toml are those that the page gives a reason for."""

from __future__ import annotations

import re
import tomllib

from tests.support import code


def _declared() -> list[str]:
    project = tomllib.loads((code.ROOT / "pyproject.toml").read_text())["project"]
    return [re.split(r"[\[<>=~!;]", line)[0].strip() for line in project["dependencies"]]


def test_each_dependency_has_its_reason_on_the_page() -> None:
    page = (code.ROOT / "docs" / "decisions" / "dependencies.md").read_text()
    explained = re.findall(r"^\| `([\w-]+)` \| .+ \| .+ \|$", page, flags=re.MULTILINE)
    assert explained == _declared()


def test_dependencies_are_in_order_and_name_a_lowest_version() -> None:
    assert _declared() == sorted(_declared())
    lines = tomllib.loads((code.ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [line for line in lines if ">=" not in line] == []
