"""``.treadleignore``: patterns of files that are no DAG files, as in ``.gitignore``.

One file may stand in each folder; its patterns are relative to that folder, and the last pattern that fits decides.
``*`` and ``?`` stop at a slash, ``**`` does not, ``!`` takes back, a trailing slash names folders only, a pattern
with a slash elsewhere is anchored. Pure, but for reading the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

NAME: Final = ".treadleignore"
_MOST_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file in ``base``, a folder relative to the dags folder ("" for itself)."""

    base: str
    expression: re.Pattern[str]
    takes_back: bool
    folders_only: bool

    def fits(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether the pattern names ``path``, relative to the dags folder with slashes."""
        if self.folders_only and not is_folder:
            return False
        if self.base:
            if not path.startswith(self.base + "/"):
                return False
            path = path[len(self.base) + 1 :]
        return self.expression.fullmatch(path) is not None


def read_patterns(folder: str, base: str) -> tuple[Pattern, ...]:
    """Return the patterns of the ignore file in ``folder``; none if it is not there or cannot be read."""
    try:
        with open(os.path.join(folder, NAME), "rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ()
    return patterns_of(text.splitlines(), base)


def patterns_of(lines: Iterable[str], base: str = "") -> tuple[Pattern, ...]:
    """Return the patterns of an ignore file's lines."""
    found = (_pattern(line, base) for line in lines)
    return tuple(one for one in found if one is not None)


def is_ignored(path: str, patterns: Iterable[Pattern], *, is_folder: bool) -> bool:
    """Tell whether the last pattern that fits says to leave ``path`` out."""
    ignored = False
    for pattern in patterns:
        if pattern.takes_back == ignored and pattern.fits(path, is_folder=is_folder):
            ignored = not pattern.takes_back
    return ignored


def _pattern(line: str, base: str) -> Pattern | None:
    text = line if line.endswith("\\ ") else line.rstrip()
    if not text or text.startswith("#"):
        return None
    takes_back = text.startswith("!")
    if takes_back or text.startswith(("\\#", "\\!")):
        text = text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    try:
        expression = re.compile(("" if anchored else "(?:.*/)?") + _expression(text.lstrip("/")), re.DOTALL)
    except re.error:
        return None
    return Pattern(base, expression, takes_back, folders_only)


_TOKENS: Final = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?\]?[^\]]*\]|\\.|.", re.DOTALL)
_MEANINGS: Final = {"**/": "(?:.*/)?", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _expression(text: str) -> str:
    return "".join(_translated(token) for token in _TOKENS.findall(text))


def _translated(token: str) -> str:
    if token in _MEANINGS:
        return _MEANINGS[token]
    if len(token) > 2 and token[0] == "[":
        inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        inner = "^/" + inner[1:] if inner.startswith("!") else inner
        return f"[{inner}]"
    return re.escape(token[1:] if len(token) == 2 and token[0] == "\\" else token)
