"""Every command explains itself."""

from __future__ import annotations

import click
import pytest
from tests.support.command_line import CommandLine, all_commands

from treadle_cli.clicks import LazyGroup

EVERY = dict(all_commands())


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_has_a_sentence_and_an_example(path: tuple[str, ...]) -> None:
    text = CommandLine().ok(*path, "--help")
    examples = text.partition("\nExample")[2].splitlines()[1:]
    assert examples, f"treadle {' '.join(path)} --help has no example"
    assert EVERY[path].help, path
    shown_for = " ".join(["treadle", *path]) if path else "treadle"
    assert any(shown_for in line or "backfill" in line for line in examples), examples


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_option_is_explained_by_words_or_by_its_choices(path: tuple[str, ...]) -> None:
    silent = [
        option.opts[-1]
        for option in EVERY[path].params
        if isinstance(option, click.Option) and not option.help and not isinstance(option.type, click.Choice)
    ]
    assert silent == []


def test_tables_of_lazy_groups_name_commands_as_they_name_themselves() -> None:
    for group in (command for command in EVERY.values() if isinstance(command, LazyGroup)):
        context = click.Context(group)
        for name, entry in group.table.items():
            command = group.get_command(context, name)
            assert command is not None
            assert name in {command.name, "backfill"}, name
            assert entry.help.endswith("."), name


def test_the_help_of_the_program_fits_on_a_screen() -> None:
    lines = CommandLine().ok("--help").splitlines()
    assert len(lines) <= 52
    assert max(map(len, lines)) <= 80
