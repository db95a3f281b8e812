"""What keeps user code away from credentials and from the rest of the machine, while a DAG file is parsed.

Called in the zygote and its children, which are exec'ed with a scrubbed environment: no credential is ever in their
memory or environment (case F17). The parent counts their processes. Hard isolation is the container's job (design
section 10).
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterable
from typing import Final

_PR_CAPBSET_DROP: Final = 24
_TRACING: Final = (16, 17, 19, 21, 38, 39)
"""CAP_SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, PERFMON, BPF: each of them opens other processes' memory."""

_CAPABILITY_VERSION_3: Final = 0x20080522

SPARE_BYTES: Final = 128 * 1024 * 1024
"""Address space beyond the file's limit, for reporting that the limit was reached."""


def drop_power_to_trace() -> None:
    """Give up root's right to look into other processes.

    The kernel then refuses this process, and its children, the memory and environment of every process that has more
    rights, such as the DAG processor or a container's first process. Who is not root has nothing to give up.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "capset") or not hasattr(libc, "prctl"):
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    # effective, permitted and inheritable, for capabilities 0-31 and 32-63
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0:
        return
    for number in _TRACING:
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
        word, bit = divmod(number, 32)
        for index in range(3 * word, 3 * word + 3):
            sets[index] &= ~(1 << bit)
    libc.capset(header, sets)


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
