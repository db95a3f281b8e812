"""Every ``treadle`` command that a page shows exists, with the options that it shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import treadle
from treadle import dag_arguments
from treadle.operators import arguments
from treadle.tasks import TaskDecorators
from treadle_cli.main import root

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
NOT_THERE = (ROOT / "docs" / "howto" / "coming-from-airflow.md").read_text().partition("## What is not there")[2]


def shown_commands() -> Iterator[tuple[str, str]]:
    """Yield page and command of every line of a console block that calls treadle."""
    for page in PAGES:
        for block in re.findall(r"^ *```console\n(.*?)^ *```$", page.read_text(), re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                for part in re.split(r"\s\|\s", line.strip()):
                    found = re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?treadle (.*)", part)
                    if found and line.strip().startswith("$"):
                        yield page.name, found[1]


@pytest.mark.parametrize(("page", "command"), sorted(set(shown_commands())))
def test_the_command_is_understood(page: str, command: str) -> None:
    words = [word for word in shlex.split(command, comments=True) if word not in ("<", ">")]
    found: click.Command = root
    context = click.Context(root, info_name="treadle")
    while words and isinstance(found, click.Group):
        following = found.get_command(context, words[0])
        assert following is not None, f"{page}: there is no command {words[0]!r} in {command!r}"
        found = following
        words.pop(0)
    options = {name for one in found.params for name in (*one.opts, *one.secondary_opts)}

    used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}

    assert used <= options or found.name == "shell", f"{page}: {sorted(used - options)} in {command!r}"


def _names_after(heading: str) -> set[str]:
    item = NOT_THERE.partition(f"- {heading}:")[2].partition("\n- ")[0]
    return set(re.findall(r"`(\w+)`", item))


@pytest.mark.parametrize(
    ("heading", "present"),
    [
        ("Names of `airflow.sdk`", set(treadle.__all__)),
        ("Variants of `@task`", set(dir(TaskDecorators))),
        ("Arguments of DAGs", set(dag_arguments.NAMES)),
        ("Arguments of tasks", set(arguments.NAMES)),
    ],
)
def test_what_the_manual_calls_absent_is_absent(heading: str, present: set[str]) -> None:
    absent = _names_after(heading)

    assert absent
    assert absent & present == set()
