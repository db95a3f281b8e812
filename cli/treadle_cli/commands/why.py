"""How ``treadle dags why`` and ``treadle tasks why`` print their answer: one line, or its machine form."""

from __future__ import annotations

from typing import Any

import click

from treadle_cli.output import show_record
from treadle_metadata.deciding.reasons import Explanation


def print_why(found: Explanation, output: str | None, **subject: Any) -> None:
    """Print the sentence alone, or with ``output`` the code, the blocking object and the ``subject`` too."""
    if output is None:
        click.echo(found.sentence)
        return
    blocker = found.blocked_by
    record = subject | {
        "reason": found.reason.value,
        "sentence": found.sentence,
        "blocked_by": None if blocker is None else {"kind": blocker.kind.value, "id": blocker.id},
        "until": found.until,
    }
    show_record(record, output)
