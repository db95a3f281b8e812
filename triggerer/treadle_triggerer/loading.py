"""Finds the classes of triggers: in installed modules, or in the DAG file of the version that waits.

User code is imported in a thread, so that a slow import does not hold up the loop, and one import at a time. Classes
are kept by file version: the next trigger of the same costs a look-up. One that cannot be imported fails alone.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

from treadle.triggers.making import class_of
from treadle_worker.loading import load_dag_file, module_name

File = Mapping[str, Any]
"""``file``, ``file_hash`` and ``source`` of a version."""


class Classes:
    """The classes of triggers that were asked for so far."""

    def __init__(self, dags_folder: str) -> None:
        self._dags_folder = dags_folder
        self._found: dict[tuple[str, str], Any] = {}
        self._importing = asyncio.Lock()

    async def find(self, classpath: str, file: File | None) -> Any:
        """Return the class at ``classpath``; what its module raises goes through.

        Raises:
            ImportError: there is no such class.
            DagFileError: the DAG file cannot be imported.
        """
        module = classpath.rpartition(".")[0]
        of_file = file is not None and module.partition(".")[0] == module_name(file["file"])
        key = (str(file["file_hash"]) if file is not None and of_file else "", classpath)
        if key in self._found:
            return self._found[key]
        async with self._importing:
            if key not in self._found:
                self._found[key] = await self._import(classpath, file if of_file else None)
        return self._found[key]

    async def _import(self, classpath: str, file: File | None) -> Any:
        if file is None and classpath.rpartition(".")[0] in sys.modules:
            return class_of(classpath)
        return await asyncio.to_thread(self._import_now, classpath, file)

    def _import_now(self, classpath: str, file: File | None) -> Any:
        if file is not None:
            # Versions of one file have one module name: the newest import stands there, the classes are kept here.
            load_dag_file(file["file"], self._dags_folder, file["source"])
        return class_of(classpath)
