"""Files that ``import`` and ``export`` read and write: one mapping of names to values, as JSON or YAML."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
import yaml

from treadle_cli.errors import CliError

STANDARD: Final = "-"
_YAML: Final = (".yaml", ".yml")


def read_mapping(name: str) -> dict[str, Any]:
    """Read the mapping in the file ``name`` (``-``: standard input, which may hold either form).

    Raises:
        CliError: the file cannot be read, or holds no mapping.
    """
    text = sys.stdin.read() if name == STANDARD else _text(Path(name))
    try:
        # JSON is YAML too, but YAML reads some JSON texts differently (1e3, say).
        content = yaml.safe_load(text) if name.lower().endswith(_YAML) else json.loads(text)
    except (ValueError, yaml.YAMLError) as error:
        raise CliError(f"{_shown(name)} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise CliError(f"{_shown(name)} holds a {type(content).__name__}, expected an object of names and values")
    return content


def write_mapping(name: str, content: Mapping[str, Any]) -> None:
    """Write ``content`` to the file ``name`` (``-``: standard output), readable by its owner only: it may be secret.

    Raises:
        CliError: the file cannot be written.
    """
    if name.lower().endswith(_YAML):
        text = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True)
    else:
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    if name == STANDARD:
        click.echo(text, nl=False)
        return
    try:
        with open(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
    except OSError as error:
        raise CliError(f"{name} cannot be written: {error.strerror}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"{path} cannot be read: {error}") from error


def _shown(name: str) -> str:
    return "standard input" if name == STANDARD else name
