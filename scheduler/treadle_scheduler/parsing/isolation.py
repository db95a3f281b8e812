"""What keeps user code away from credentials and from the rest of the machine, while a DAG file is parsed.

Called in the zygote and its children, which are exec'ed with a scrubbed environment: no credential is ever in their
memory or environment (case F17). The parent counts their processes. Hard isolation is the container's job (design
section 10).
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable
from typing import Final

SPARE_BYTES: Final = 128 * 1024 * 1024
"""Address space beyond the file's limit, for reporting that the limit was reached."""


def limit_memory(most_bytes: int) -> None:
    """Limit this process's address space; allocations beyond it raise MemoryError."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = most_bytes + SPARE_BYTES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (min(most_bytes, wanted), wanted))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def spare_memory() -> None:
    """Make the spare address space available, for what comes after user code."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def sizes_of_trees(roots: Iterable[int]) -> dict[int, int]:
    """Return how many living processes each of ``roots`` is with all that descends from it; 0 where there is no /proc.

    By descent, since a process can leave its group and its session, but not the subreaper above it.
    """
    children = _children()
    sizes = {}
    for root in roots:
        below = [root]
        for pid in below:
            below += children.get(pid, ())
        sizes[root] = len(below) if children else 0
    return sizes


def _children() -> dict[int, list[int]]:
    """Return the pids of this machine by parent (one pass over /proc)."""
    found: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                content = file.read()
        except OSError:
            continue
        # After the command, which may hold spaces and parentheses: state, parent, ...
        fields = content[content.rfind(b")") + 2 :].split(maxsplit=2)
        if len(fields) > 1 and fields[0] != b"Z":
            found.setdefault(int(fields[1]), []).append(int(name))
    return found
