"""What ids of DAGs, tasks and groups may be. They become parts of log paths, URLs and run ids (cases F2, F3)."""

from __future__ import annotations

import re
from typing import Final

from treadle.errors import InvalidIdError
from treadle.source import Site

MAX_ID: Final = 250
"""Characters of the longest DAG or task id."""

MAX_GROUP_ID: Final = 200
"""Characters of the longest group id."""

_KEY = re.compile(r"[\w.-]+")
_GROUP_KEY = re.compile(r"[\w-]+")


def checked_id(what: str, name: object, site: Site | None = None) -> str:
    """Return ``name`` if it can be the id of a ``what`` (DAG, task).

    Raises:
        InvalidIdError: it is no string of 1 to 250 letters, digits, ``_``, ``.`` and ``-``, or all dots.
    """
    if isinstance(name, str) and 0 < len(name) <= MAX_ID and _KEY.fullmatch(name) and name.strip("."):
        return name
    raise InvalidIdError(
        what, name, f"1 to {MAX_ID} letters, digits, '_', '.' and '-', not only dots", site=site
    )


def checked_group_id(name: object, site: Site | None = None) -> str:
    """Return ``name`` if it can be the id of a task group, before its parents' ids are put in front.

    Raises:
        InvalidIdError: it is no string of 1 to 200 letters, digits, ``_`` and ``-``.
    """
    if isinstance(name, str) and 0 < len(name) <= MAX_GROUP_ID and _GROUP_KEY.fullmatch(name):
        return name
    raise InvalidIdError("task group", name, f"1 to {MAX_GROUP_ID} letters, digits, '_' and '-'", site=site)
