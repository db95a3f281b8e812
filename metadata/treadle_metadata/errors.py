"""The errors of the metadata layer, as a tree. Each takes facts and makes its own sentence.

MetadataError
├── NotFoundError            a DAG, run, task instance, pool ... that does not exist
├── ConflictError            it exists already, or is in a state that forbids the act
│   └── UnusableVersionError a stored version of a DAG that this Treadle cannot read
├── ForbiddenError           it is not for this person to do
├── InvalidRequestError      an argument that cannot be used
│   └── InvalidOrderError    an order that a list has no index for
├── LogStoreError            the remote store of task logs does not do what it was asked
└── LimitError               something is larger than the installation allows
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MetadataError(Exception):
    """Something asked of the metadata database cannot be done; ``str()`` says what, which, and what to do.

    ``field`` is the name that requests have for what is wrong, where it is one thing.
    """

    def __init__(self, *words: object, field: str | None = None) -> None:
        super().__init__(*words)
        self.field = field


class NotFoundError(MetadataError, LookupError):
    """What was named does not exist. ``what`` is its kind, ``advice`` more to say than the nearest ``known`` name.

    A kind may say what the thing belongs to: ``run of DAG 'x'`` and ``y`` make "run 'y' of DAG 'x' was not found".
    """

    def __init__(self, what: str, name: object, known: Iterable[str] = (), *, advice: str = "") -> None:
        close = difflib.get_close_matches(str(name), list(known), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        kind, of, owner = what.partition(" of ")
        super().__init__(f"{kind} {shown(name)}{of}{owner} was not found{hint}{advice}")
        self.what = what
        self.name = name


class ConflictError(MetadataError):
    """What was named exists already or is in a state that forbids the act."""


class UnusableVersionError(ConflictError):
    """A stored version of a DAG cannot be compiled: a newer Treadle stored it, or somebody changed it by hand."""

    def __init__(self, dag_id: str, version_id: int, error: Exception) -> None:
        super().__init__(
            f"a version of DAG {shown(dag_id)} (id {version_id}) cannot be read by this Treadle "
            f"({type(error).__name__}: {shown(error)}); run the release that stored it, or end what is of this version"
        )


class InvalidRequestError(MetadataError, ValueError):
    """An argument cannot be used."""


class InvalidOrderError(InvalidRequestError):
    """A list cannot be put in this order: the name is unknown, or no index would carry it."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.expected = f"one of {', '.join(sorted(known))}"
        super().__init__(f"cannot order by {shown(name)}; expected {self.expected}")


class ForbiddenError(MetadataError):
    """It is not for this person to do, whatever the role; the sentence says whose it is."""


class LimitError(MetadataError):
    """Something is larger than the installation allows."""


class LogStoreError(MetadataError):
    """The remote store of task logs cannot be read or written just now; ``store`` is its address, without secrets."""

    def __init__(self, store: str, act: str, error: BaseException) -> None:
        why = shown(" ".join(str(error).split()) or type(error).__name__, 300)
        super().__init__(f"cannot {act} the remote logs at {store}: {type(error).__name__}: {why}")


def shown(name: object, most: int = 120) -> str:
    """Return ``name`` quoted for a message: escaped, and shortened in the middle when it is long."""
    text = ascii(str(name)) if not str(name).isprintable() else repr(str(name))
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 4 :]} ({len(str(name))} characters)"
