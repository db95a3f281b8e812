"""The page of settings, from the fields of ``treadle_metadata.settings.Settings``."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from docs.pages.markdown import code, table

from treadle_metadata.settings import Settings

PREFACE = """\
# Settings

A setting is read from the first of these places that has it:

1. an option of the command (`--host`, `--port`),
2. the environment: `TREADLE_` and its name in capitals, say `TREADLE_PARALLELISM=64`,
3. `treadle.toml` in the home folder,
4. `secrets.toml` in the home folder, which the first `treadle standalone` writes with mode 0600,
5. its default.

The home folder itself is `TREADLE_HOME`, or `~/.treadle`. An unknown name in a file, or a value of the wrong type, is
an error that names it. `treadle config list` shows every setting with its value and where that comes from; values of
secret settings are not shown.

```toml
# ~/.treadle/treadle.toml
parallelism = 64
timezone = "Europe/Copenhagen"
dags_are_paused_at_creation = false
```
"""


def page() -> str:
    """Return the page."""
    lines = [
        (code(one.name), code(one.type), _default(one), str(one.metadata["help"]) + _remark(one))
        for one in fields(Settings)
    ]
    return f"{PREFACE}\n{table(('name', 'type', 'default', 'meaning'), lines)}\n"


def _default(one: Field[Any]) -> str:
    if one.default == "":
        return "empty"
    if isinstance(one.default, bool):
        return code(str(one.default).lower())
    return code(one.default)


def _remark(one: Field[Any]) -> str:
    return " Secret." if one.metadata.get("secret") else ""
