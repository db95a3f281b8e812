"""Which worker of a whole run (``pytest -n``) is given which tests, and when; ``tests/conftest.py`` hands it over.

A file's tests stay together, so that what a module starts is started once, and so do those of a folder that shares an
installation, or counts the databases of the server that all workers have. The first worker goes through the files from
the front, where the long ones that start processes stand, the others come to meet it from the end: the one order that
keeps two such tests from each other's processors.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

TOGETHER = ("tests/e2e", "tests/e2e_ui", "tests/integration/simulation")


class Units(LoadFileScheduling):  # type: ignore[misc]
    """Hands out files and folders, in the order of the collection."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        folder = file.rpartition("/")[0]
        return folder if folder in TOGETHER else file

    def _assign_work_unit(self, node: Any) -> None:
        if node is not self.nodes[0]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)
