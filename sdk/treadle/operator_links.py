"""Links of a task to what it did elsewhere: the page of a job, a query, a dashboard. Operators have them as a class.

DAG files derive from :class:`BaseOperatorLink`; the task runtime calls ``get_link`` at the end of an attempt, in the
task's own process, and stores the address with the attempt. Servers show what is stored and run none of this code;
:func:`lawful` is what they ask before they keep a link that a worker reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from treadle.errors import DagError
from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator

MOST_LINKS: Final = 20
"""Of one task."""
LONGEST_NAME: Final = 250
"""Characters."""
LONGEST_LINK: Final = 4096
"""Characters."""


class BaseOperatorLink(ABC):
    """A link that a task's page shows. A class attribute ``name`` will do for the property.

    An operator names its links in its class: ``operator_extra_links = (JobLink(),)``.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What the button says; of one operator, each link has another name."""

    @abstractmethod
    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """Return the address, ``http`` or ``https``; an empty string where there is none.

        Called once at the end of each attempt, also of one that failed or was deferred, with the operator as it ran
        and the task instance: ``ti_key`` has ``dag_id``, ``task_id``, ``run_id``, ``map_index`` and ``try_number``,
        and ``ti_key.xcom_pull(key=...)`` gives what the task pushed.
        """


def refusal_of(address: object) -> str:
    """Return why ``address`` cannot be a link of a task, in words that go on after it; empty if it can."""
    if not isinstance(address, str):
        return f"is a {type(address).__name__}; expected a text"
    if len(address) > LONGEST_LINK:
        return f"has {len(address):,} characters; expected at most {LONGEST_LINK:,}"
    # A browser passes over white space and control characters that it finds before or within the scheme.
    if any(one.isspace() or not one.isprintable() for one in address):
        return "has white space or a control character in it; expected them written as %20 and so on"
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError as error:
        return f"cannot be read ({error})"
    if parts.scheme not in ("http", "https"):
        return f"begins with {shown(parts.scheme + ':') if parts.scheme else 'no scheme'}; expected http: or https:"
    return "" if host else "names no host; expected http://host/path"


def lawful(links: object) -> dict[str, str]:
    """Return those of ``links`` (addresses by name, from outside) that may be kept and shown."""
    if not isinstance(links, Mapping):
        return {}
    kept = {
        name: address
        for name, address in links.items()
        if isinstance(name, str) and _is_name(name) and not refusal_of(address)
    }
    return dict(list(kept.items())[:MOST_LINKS])


def named_links(kind: type[BaseOperator], task: BaseOperator) -> tuple[str, ...]:
    """Return the names of a task's links, for its document.

    A property of an operator that is mapped gives names only when an instance runs.

    Raises:
        DagError: what the class names is no link, or two links have one name.
    """
    found = task.operator_extra_links
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise _refused(task, kind, f"is {shown(found)}; expected a list of BaseOperatorLink objects")
    links = tuple(found)
    for one in links:
        name = getattr(one, "name", None)
        if isinstance(one, type) or not callable(getattr(one, "get_link", None)):
            raise _refused(task, kind, f"holds {shown(one)}; expected a BaseOperatorLink object, such as JobLink()")
        if not isinstance(name, str) or not _is_name(name):
            fact = f"holds a {type(one).__name__} whose name is {shown(name)}"
            raise _refused(task, kind, f"{fact}; expected a text of 1 to {LONGEST_NAME} printable characters")
    names = tuple(one.name for one in links)
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise _refused(task, kind, f"holds two links of the name {shown(twice)}; expected one")
    if len(names) > MOST_LINKS:
        raise _refused(task, kind, f"holds {len(names)} links; expected at most {MOST_LINKS}")
    return names


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable() and bool(name.strip())


def _refused(task: BaseOperator, kind: type[BaseOperator], fact: str) -> DagError:
    return DagError(f"{task!r}: operator_extra_links of {kind.__name__} {fact}", site=task.site)
