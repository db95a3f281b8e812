"""What users type as JSON."""

from __future__ import annotations

import json
from typing import Any

import click


def parsed_object(text: str | None, option: str) -> dict[str, Any] | None:
    """Return the JSON object that a user typed.

    Raises:
        click.BadParameter: it is not a JSON object.
    """
    if text is None:
        return None
    try:
        content = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not JSON: {error}", param_hint=option) from error
    if not isinstance(content, dict):
        raise click.BadParameter(f"{text!r} is not a JSON object", param_hint=option)
    return content
