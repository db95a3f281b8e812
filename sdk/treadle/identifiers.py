"""What ids of DAGs, tasks and groups may be. They become parts of log paths, URLs and run ids (cases F2, F3)."""

from __future__ import annotations

from typing import Final

from treadle.errors import InvalidIdError
from treadle.source import Site

MAX_ID: Final = 250
"""Characters of the longest DAG or task id."""

MAX_GROUP_ID: Final = 200
"""Characters of the longest group id."""

# str.isalnum knows the same letters and digits as a regular expression's \w, without the import of re.
_KEY_SIGNS: Final = str.maketrans("", "", "_.-")
_GROUP_KEY_SIGNS: Final = str.maketrans("", "", "_-")


def checked_id(what: str, name: object, site: Site | None = None) -> str:
    """Return ``name`` if it can be the id of a ``what`` (DAG, task).

    Raises:
        InvalidIdError: it is no string of 1 to 250 letters, digits, ``_``, ``.`` and ``-``, or all dots.
    """
    if isinstance(name, str) and 0 < len(name) <= MAX_ID and _is_key(name, _KEY_SIGNS) and name.strip("."):
        return name
    raise InvalidIdError(what, name, f"1 to {MAX_ID} letters, digits, '_', '.' and '-', not only dots", site=site)


def checked_group_id(name: object, site: Site | None = None) -> str:
    """Return ``name`` if it can be the id of a task group, before its parents' ids are put in front.

    Raises:
        InvalidIdError: it is no string of 1 to 200 letters, digits, ``_`` and ``-``.
    """
    if isinstance(name, str) and 0 < len(name) <= MAX_GROUP_ID and _is_key(name, _GROUP_KEY_SIGNS):
        return name
    raise InvalidIdError("task group", name, f"1 to {MAX_GROUP_ID} letters, digits, '_' and '-'", site=site)


def _is_key(name: str, signs: dict[int, int | None]) -> bool:
    letters = name.translate(signs)
    return not letters or letters.isalnum()
