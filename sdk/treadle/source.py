"""Where in the user's files something is defined: the first stack frame outside this package.

Every DAG and task remembers its site, so that each complaint about it can name the file and the line. Walking frames
costs well under a microsecond each; no traceback is built.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

Site = tuple[str, int]
"""A file's path and a line in it."""

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def site_here() -> Site:
    """Return the file and line of the innermost caller outside ``treadle``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
