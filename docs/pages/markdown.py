"""Pieces of Markdown that the generated pages are made of, and docstrings turned into it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table; bars and line ends in cells are made harmless."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(_cell(one) for one in row) + " |" for row in rows)


def code(text: object) -> str:
    """Return ``text`` as inline code."""
    return f"`{text}`"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def prose(docstring: str | None) -> str:
    """Return a docstring as Markdown: literals, references to other names, and the list of errors raised."""
    if not docstring:
        return ""
    first, _, rest = docstring.strip().partition("\n")
    text = f"{first}\n{textwrap.dedent(rest)}".strip()
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text)
    text = text.replace("``", "`")
    text, _, raised = text.partition("\nRaises:\n")
    # Cases and design sections are for those who work on Treadle.
    text = re.sub(r" \((?:[^()]*\b(?:cases?|section|specification|design)\b[^()]*)\)", "", text).strip()
    return f"{text}\n\n{_errors(raised)}" if raised else text


def sentence(docstring: str | None) -> str:
    """Return a docstring as one paragraph, for a cell of a table."""
    return re.sub(r"\s+", " ", prose(docstring)).replace("Raises: - ", "Raises ").replace(" - `", "; `")


def _errors(raised: str) -> str:
    items: list[str] = []
    for line in textwrap.dedent(raised).splitlines():
        found = re.match(r"(\w+): (.*)", line)
        if found:
            items.append(f"- `{found[1]}`: {found[2]}")
        elif line.strip():
            items[-1] += f" {line.strip()}"
    return "Raises:\n\n" + "\n".join(items)
