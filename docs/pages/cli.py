"""The page of commands, from the click objects of ``treadle_cli``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click
from docs.pages.markdown import code, table

from treadle_cli.main import root

PREFACE = """\
# Command line

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 when Ctrl-C ended the waiting for something that goes on. Lists are
tables on a terminal and plain, tab-separated text when piped; `-o json` and `-o yaml` give all fields. What a command
found goes to standard output, what it says to standard error. `treadle --debug ...` shows the traceback of an error.

Dates are ISO 8601 (`2026-03-01`, `2026-03-01T06:00`, `2026-03-01T06:00+02:00`); without an offset they are in the DAG's
zone. `treadle completion bash` prints the completion script of your shell.
"""


def page() -> str:
    """Return the page."""
    return "\n".join((PREFACE, *_sections(root, ("treadle",))))


def _sections(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    context = click.Context(command, info_name=path[-1])
    if len(path) > 1:
        yield f"{'#' * len(path)} {' '.join(path)}\n"
        yield from _body(command, context, path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from _sections(found, (*path, name))


def _body(command: click.Command, context: click.Context, path: tuple[str, ...]) -> Iterator[str]:
    if command.help:
        yield f"{inspect.cleandoc(command.help).replace('<', '&lt;').replace('{{', '&#123;&#123;')}\n"
    usage = " ".join((*path, *command.collect_usage_pieces(context)))
    yield f"```text\n{usage}\n```\n"
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if options:
        yield f"{table(('option', 'value', 'meaning'), [_option(one, context) for one in options])}\n"
    examples = getattr(command, "examples", ())
    if examples:
        yield "```console\n" + "\n".join(f"$ {example}" for example in examples) + "\n```\n"


def _option(one: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = ", ".join(code(name) for name in (*one.opts, *one.secondary_opts))
    value = "" if one.is_flag else code(one.metavar or _kind(one, context))
    return names, value, f"{one.help or ''}{_facts(one)}".strip()


def _kind(one: click.Option, context: click.Context) -> str:
    if isinstance(one.type, click.Choice):
        return "|".join(str(getattr(choice, "value", choice)) for choice in one.type.choices)
    return one.make_metavar(context).removesuffix(" RANGE")


def _facts(one: click.Option) -> str:
    facts = []
    if one.required:
        facts.append("Required.")
    if one.multiple:
        facts.append("May be repeated.")
    if one.show_default and one.default is not None:
        facts.append(f"Default: {code(getattr(one.default, 'value', one.default))}.")
    return "".join(f" {fact}" for fact in facts)
