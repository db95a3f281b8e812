"""A sensor that waits for files."""

from __future__ import annotations

import glob
import importlib
import os
from collections.abc import Collection
from typing import Any, ClassVar

from treadle.connections import Connection
from treadle.errors import ConnectionFormatError
from treadle.sensors.base import BaseSensor
from treadle.sensors.deferred import Deferred


class FileSensor(Deferred, BaseSensor):
    """Waits until a file stands at ``filepath``, on the machine where it looks; a folder counts once a file is in it.

    ``filepath`` may be a pattern (``*``, ``?``, ``[...]``, and ``**`` with ``recursive``). A relative one is looked for
    in the ``path`` of the connection ``fs_conn_id``. With ``mode="deferrable"`` the triggerer's machine looks.
    """

    template_fields: Collection[str] = ("filepath",)
    can_defer: ClassVar[bool] = True

    def __init__(
        self, *, filepath: str, fs_conn_id: str = "fs_default", recursive: bool = False, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self.filepath = filepath
        self.fs_conn_id = fs_conn_id
        self.recursive = recursive

    @property
    def path(self) -> str:
        """Where it looks: ``filepath``, within the connection's folder if it is relative.

        Raises:
            ConnectionFormatError: the connection names no folder.
        """
        if os.path.isabs(self.filepath):
            return str(self.filepath)
        found = Connection.get(self.fs_conn_id)
        folder = found.extra_dejson.get("path") or found.schema
        if not folder:
            reason = 'its extra names no folder: a relative filepath needs {"path": "/..."}, or write an absolute one'
            raise ConnectionFormatError(conn_id=self.fs_conn_id, reason=reason)
        return os.path.join(str(folder), self.filepath)

    def poke(self, context: Any) -> bool:  # noqa: ARG002 - the contract of sensors
        """Look for the file."""
        path = self.path
        found = next((one for one in glob.iglob(path, recursive=self.recursive) if _is_there(one)), None)
        self.log.info("%s is there" if found else "nothing is at %s", found or path)
        return found is not None

    def trigger(self, context: Any) -> Any:  # noqa: ARG002
        """Return the trigger that waits for the file in the triggerer."""
        kind = importlib.import_module("treadle.triggers").FileTrigger
        return kind(self.path, recursive=self.recursive, poke_interval=self.poke_interval.total_seconds())


def _is_there(path: str) -> bool:
    """Tell whether a file is at ``path``, or within it."""
    return os.path.isfile(path) or any(files for _, _, files in os.walk(path))
