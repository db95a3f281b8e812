"""The click classes that every command is made of: lazy groups, and a help text that ends with examples.

``main`` and the groups with many commands list their commands in a table of names, one-line helps and the place of the
code, so that ``treadle --help`` imports nothing but click. Commands read settings, do one thing and print; an error
that they let through is told in one line by ``treadle_cli.main``.
"""

from __future__ import annotations

import difflib
import gc
import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, cast

import click


class Entry(NamedTuple):
    """Where a command is: ``module:attribute``, its line in the group's help, and the section of that help."""

    target: str
    help: str
    section: str = "Commands"


def _write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    if examples:
        with formatter.section("Examples" if len(examples) > 1 else "Example"):
            for example in examples:
                formatter.write(f"  {example}\n")


class Command(click.Command):
    """A command whose help ends with ``examples``, each a line that can be typed as it stands."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """Write the examples."""
        _write_examples(self.examples, formatter)


class Group(click.Group):
    """A group of commands that stand in one module."""

    command_class = Command

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """Write the examples."""
        _write_examples(self.examples, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command named by the first argument; a misspelt one is answered with the nearest name."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            close = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


def _imported(name: str) -> ModuleType:
    """Import a module. Imports make many objects and no garbage: looking for some takes a fifth of their time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        if was_enabled:
            gc.enable()


class LazyGroup(Group):
    """A group that imports the module of a command when that command is run, or its own help is asked for."""

    def __init__(self, *args: Any, table: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """Return the names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """Import and return the command, or None if there is none of this name."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        return cast("click.Command", getattr(_imported(module), attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """Write names and one-line helps from the table, by section, without importing any command."""
        for section in dict.fromkeys(entry.section for entry in self.table.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [(name, entry.help) for name, entry in self.table.items() if entry.section == section]
                )
