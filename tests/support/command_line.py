"""Running ``treadle`` commands in the test's own process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import click
from click.testing import CliRunner, Result

from treadle_cli.main import root


@dataclass(slots=True)
class CommandLine:
    """Runs commands with ``environment`` set."""

    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, stdin: str | None = None) -> Result:
        """Run a command and return its result, whatever its exit code."""
        return CliRunner().invoke(root, arguments, input=stdin, env=dict(self.environment), prog_name="treadle")

    def ok(self, *arguments: str, stdin: str | None = None) -> str:
        """Run a command that must succeed and return what it printed on standard output."""
        result = self.run(*arguments, stdin=stdin)
        assert result.exit_code == 0, f"{arguments}: {result.output} {result.exception!r}"
        return result.stdout

    def json(self, *arguments: str) -> Any:
        """Run a command with ``-o json`` that must succeed and return what it printed, decoded."""
        return json.loads(self.ok(*arguments, "-o", "json"))

    def fails(self, *arguments: str, code: int = 1, stdin: str | None = None) -> str:
        """Run a command that must fail with ``code`` and return what it printed on standard error."""
        result = self.run(*arguments, stdin=stdin)
        assert result.exit_code == code, f"{arguments}: exit code {result.exit_code}: {result.output}"
        return result.stderr


def all_commands(
    command: click.Command = root, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command and group of the program with the words that name it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name="treadle")
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from all_commands(found, (*path, name))
