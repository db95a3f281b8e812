"""Texts of older versions of DAG files, put where templates can read them: a folder of the host's own, gone with it.

A packet to the zygote holds no long text, so it names the file instead. Used by the template pool.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path


class StoredTexts:
    """The folder, made when the first text comes. A host that is killed leaves it to the system's temporary files."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def keep(self, number: int, source: str) -> str:
        """Write a text for the template ``number`` and return the path."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="treadle-texts-"))
        path = self._folder / f"{number}.py"
        path.write_text(source, encoding="utf-8")
        return str(path)

    def close(self) -> None:
        """Delete the folder."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
